"""A mutant, and the programs that detect mutants."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple, Protocol


class Detector(Protocol):
    """A program that fails when a rule is broken."""

    @property
    def target(self) -> str:
        """The build target, which is also the name of the program."""

    @property
    def title(self) -> str:
        """The name of the detector in the table of docs/testing.md."""

    def run(self, program: Path) -> str | None:
        """None if the program passes; otherwise how it failed: the seed or the number of steps."""


def run(command: list, seconds: int) -> tuple[int | None, str]:
    """Exit code, or None after a timeout, and the output."""
    try:
        ran = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                             errors="replace", timeout=seconds, check=False,
                             cwd=Path(command[0]).parent)  # a failure writes its packet trace here
    except subprocess.TimeoutExpired:
        return None, ""
    return ran.returncode, ran.stdout + ran.stderr


class Model(NamedTuple):
    """The model test, which compares the memory core with a reference implementation."""
    seeds: int = 8
    steps: int = 25_000
    target: str = "memory-model"

    @property
    def title(self) -> str:
        return f"`{self.target}`"

    def run(self, program: Path) -> str | None:
        code, output = run([program, "--seeds", f"1..{self.seeds}", "--steps", self.steps], 120)
        if code == 0:
            return None
        where = re.search(r"repeat with: .*--seed (\d+) --steps (\d+)", output)
        if not where:
            return "hangs" if code is None else "crashes"
        return f"{(int(where[1]) - 1) * self.steps + int(where[2]):,} steps"


class Simulator(NamedTuple):
    """The simulator: adapters on a lossy network, or the mode that the options select."""
    seeds: int = 300
    options: tuple[str, ...] = ()
    target: str = "verbena-sim"

    @property
    def title(self) -> str:
        return f"`{' '.join((self.target, *self.options))}`"

    def run(self, program: Path) -> str | None:
        code, output = run([program, *self.options, "--seeds", f"1..{self.seeds}"], 300)
        if code == 0:
            return None
        where = re.search(r"FAILED: seed (\d+)", output)
        if not where:
            return "hangs" if code is None else "crashes"
        return f"seed {where[1]}"


class Tests(NamedTuple):
    """Selected tests of one test program; of a test with parameters, all of its instances."""
    target: str
    filter: str

    @property
    def title(self) -> str:
        return f"`{self.target}`: {self.filter}"

    def run(self, program: Path) -> str | None:
        selected = f"--gtest_filter={self.filter}:*/{self.filter}/*"
        code, output = run([program, selected], 120)
        if code == 0:
            if re.search(r"\[  PASSED  \] [1-9]", output):
                return None
            return "no such test, or it was skipped"
        if code is None:
            return "hangs"
        return "fails" if "[  FAILED  ]" in output else "crashes"


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
    """A replacement of one piece of code that breaks one rule."""
    rule: str  # the faulty behaviour, which also names the mutant
    file: str  # relative to src/
    old: str  # the text to replace: occurs exactly once
    new: str
    detector: Detector
