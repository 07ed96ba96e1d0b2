"""What a mutant is, and what has to notice it."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple, Protocol


class Judge(Protocol):
    """A program that fails when a rule is broken."""

    @property
    def target(self) -> str:
        """What to build: the name of the program, too."""

    @property
    def title(self) -> str:
        """How the table in docs/testing.md names it."""

    def run(self, program: Path) -> str | None:
        """None when it has nothing to say; otherwise how soon it noticed."""


def run(command: list, seconds: int) -> tuple[int | None, str]:
    """Exit code, None if it had to be ended, and all that was said."""
    try:
        ran = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                             errors="replace", timeout=seconds, check=False,
                             cwd=Path(command[0]).parent)  # where a failure leaves its packets
    except subprocess.TimeoutExpired:
        return None, ""
    return ran.returncode, ran.stdout + ran.stderr


class Model(NamedTuple):
    """The memory core beside its reference."""
    seeds: int = 8
    steps: int = 25_000
    target: str = "memory-model"

    @property
    def title(self) -> str:
        return f"`{self.target}`"

    def run(self, program: Path) -> str | None:
        code, said = run([program, "--seeds", f"1..{self.seeds}", "--steps", self.steps], 120)
        if code == 0:
            return None
        where = re.search(r"repeat with: .*--seed (\d+) --steps (\d+)", said)
        if not where:
            return "hangs" if code is None else "crashes"
        return f"{(int(where[1]) - 1) * self.steps + int(where[2]):,} steps"


class Simulator(NamedTuple):
    """Adapters on a bad network, or what the options name."""
    seeds: int = 300
    options: tuple[str, ...] = ()
    target: str = "verbena-sim"

    @property
    def title(self) -> str:
        return f"`{' '.join((self.target, *self.options))}`"

    def run(self, program: Path) -> str | None:
        code, said = run([program, *self.options, "--seeds", f"1..{self.seeds}"], 300)
        if code == 0:
            return None
        where = re.search(r"FAILED: seed (\d+)", said)
        if not where:
            return "hangs" if code is None else "crashes"
        return f"seed {where[1]}"


class Tests(NamedTuple):
    """Tests of one program."""
    target: str
    filter: str

    @property
    def title(self) -> str:
        return f"`{self.target}`: {self.filter}"

    def run(self, program: Path) -> str | None:
        code, said = run([program, f"--gtest_filter={self.filter}"], 120)
        if code == 0:
            if re.search(r"\[  PASSED  \] [1-9]", said):
                return None
            return "no such test, or it was skipped"
        if code is None:
            return "hangs"
        return "fails" if "[  FAILED  ]" in said else "crashes"


class Torture(NamedTuple):
    """Memory that is changed behind the registration cache."""
    seconds: int = 10
    target: str = "cache_torture_static"

    @property
    def title(self) -> str:
        return f"`{self.target}`"

    def run(self, program: Path) -> str | None:
        code, said = run([program, "--seconds", self.seconds], 120)
        if code == 0:
            return None
        where = re.search(r"([1-9]\d*) stale", said)
        if not where:
            return "hangs" if code is None else "crashes"
        return "stale uses"


class Mutant(NamedTuple):
    """A copy of the code with one rule broken on purpose."""
    rule: str  # that is broken; its name, too
    file: str  # below src
    old: str  # is there exactly once
    new: str
    judge: Judge
