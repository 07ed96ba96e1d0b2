#!/usr/bin/env python3
"""The inner loop (`make check`): unit tests, exit codes of the command and source checks, in the
quick build. `make test` adds sanitizers, scenarios, fuzzing and real programs.

usage: check.py BUILD_FOLDER
"""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PARALLEL_JOBS = 2
TIMEOUT_S = 300  # for one program


class Job(NamedTuple):
    name: str
    command: list[str]


def jobs(build: Path) -> list[Job]:
    layers = sorted({test.relative_to(ROOT / "src").parts[0]
                     for test in (ROOT / "src").rglob("*_test.cc")})
    units = [Job(layer, [str(build / "bin" / f"{layer}_test"), "--gtest_brief=1"])
             for layer in layers]
    scripts = [Job("command", ["tests/integration/command_test.py", str(build / "bin")]),
               Job("help", ["tests/integration/help_test.py", str(build / "bin")]),
               Job("tidy", ["tools/check_tidy.py"]), Job("layers", ["tools/check_layers.py"]),
               Job("format", ["tools/format.py", "--check"])]
    return units + [Job(job.name, [sys.executable, *job.command]) for job in scripts]


def run(job: Job) -> bool:
    begin = time.monotonic()
    try:
        done = subprocess.run(job.command, cwd=ROOT, check=False, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        passed, output = done.returncode == 0, done.stdout
    except (OSError, subprocess.TimeoutExpired) as problem:
        passed, output = False, str(problem)
    print(f"{'passed' if passed else 'FAILED'}  {job.name}  ({time.monotonic() - begin:.1f} s)",
          flush=True)
    if not passed:
        print(output, flush=True)
    return passed


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with ThreadPoolExecutor(PARALLEL_JOBS) as pool:
        passed = list(pool.map(run, jobs(Path(sys.argv[1]).resolve())))
    print(f"check: {passed.count(True)} passed, {passed.count(False)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
