#!/usr/bin/env python3
"""Tortures the registration cache and registered memory for long, all ways at the same time.

  tools/soak.py [--build DIR] [--seconds N] [--only PATTERN]     (make soak)

Each run changes memory behind registrations for N seconds, and fails if it finds one byte of memory
that is gone. The runs take the processors from each other, which is a part of the torture: a
thread is preempted anywhere.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What a run has to end in once it is to: its threads may have to wait for a processor.
END_SECONDS = 300

RUNS = {
    "cache, userfaultfd": ["cache_torture"],
    "cache, no userfaultfd": ["cache_torture", "--no-userfaultfd"],
    "cache, nothing kept": ["cache_torture", "--off"],
    "cache, static program": ["cache_torture_static"],
    "cache, over the adapter": ["cache_torture", "--verbena"],
    "registered memory": ["torture"],
    "registered memory, page events": ["torture", "--events"],
}


def start(command: list[str], build: Path, seconds: int) -> subprocess.Popen:
    return subprocess.Popen([build / "bin" / command[0], *command[1:], "--seconds", str(seconds)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process: subprocess.Popen, end: float) -> tuple[bool, str]:
    """Whether it passed, and the line that sums it up; all that it printed if it failed."""
    try:
        said = process.communicate(timeout=max(1.0, end - time.monotonic()))[0]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False, "does not end"
    lines = said.strip().splitlines() or [f"exit code {process.returncode}"]
    if process.returncode != 0:
        return False, "\n".join(lines)
    return True, next((line for line in lines if "stale" in line), lines[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--only", default="", metavar="PATTERN", help="runs whose name matches")
    options = parser.parse_args()
    chosen = {name: command for name, command in RUNS.items() if re.search(options.only, name)}
    if not chosen:
        print(f"no such run; there are: {', '.join(RUNS)}", file=sys.stderr)
        return 2
    print(f"{len(chosen)} runs of {options.seconds} s", flush=True)
    processes = {name: start(command, options.build, options.seconds)
                 for name, command in chosen.items()}
    end = time.monotonic() + options.seconds + END_SECONDS
    passed = True
    for name, process in processes.items():
        is_good, said = finish(process, end)
        passed = passed and is_good
        print(f"{name:<32}{'passed' if is_good else 'FAILED'}  {said}", flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
