#!/usr/bin/env python3
"""For the inner loop: the tests beside the code, the exit codes of the command, and the checks of
the tree, in the quick build. `make test` has the rest: sanitizers, scenarios, fuzzing, programs.

usage: check.py BUILD_FOLDER
"""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
AT_ONCE = 2
PATIENCE = 300  # seconds for one program


class Job(NamedTuple):
    name: str
    command: list[str]


def jobs(build: Path) -> list[Job]:
    layers = sorted({test.relative_to(ROOT / "src").parts[0]
                     for test in (ROOT / "src").rglob("*_test.cc")})
    units = [Job(layer, [str(build / "bin" / f"{layer}_test"), "--gtest_brief=1"])
             for layer in layers]
    scripts = [Job("command", ["tests/integration/command_test.py", str(build / "bin")]),
               Job("tidy", ["tools/check_tidy.py"]), Job("layers", ["tools/check_layers.py"]),
               Job("format", ["tools/format.py", "--check"])]
    return units + [Job(job.name, [sys.executable, *job.command]) for job in scripts]


def run(job: Job) -> bool:
    begin = time.monotonic()
    try:
        done = subprocess.run(job.command, cwd=ROOT, check=False, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
        passed, said = done.returncode == 0, done.stdout
    except (OSError, subprocess.TimeoutExpired) as problem:
        passed, said = False, str(problem)
    print(f"{'passed' if passed else 'FAILED'}  {job.name}  ({time.monotonic() - begin:.1f} s)",
          flush=True)
    if not passed:
        print(said, flush=True)
    return passed


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with ThreadPoolExecutor(AT_ONCE) as pool:
        passed = list(pool.map(run, jobs(Path(sys.argv[1]).resolve())))
    print(f"check: {passed.count(True)} passed, {passed.count(False)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
