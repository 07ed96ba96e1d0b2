#!/usr/bin/env python3
"""Runs the unit tests of the coverage build and prints the line coverage of each folder of src/.

With --files: of each file too, with the lines that no test reaches.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
SRC = ROOT / "src"

Lines = dict[int, bool]  # executable line -> reached


def run_tests() -> None:
    for counts in BUILD.rglob("*.gcda"):
        counts.unlink()
    tests = subprocess.run(["ctest", "--preset", "coverage", "-Q"], cwd=ROOT, check=False)
    if tests.returncode != 0:
        print("coverage: tests failed; see ctest --preset coverage", file=sys.stderr)
        sys.exit(1)


def measure() -> dict[Path, Lines]:
    """Line counts by file. A line of a header counts as reached if any object reached it."""
    files = defaultdict(Lines)
    for counts in BUILD.rglob("*.gcda"):
        gcov = subprocess.run(["gcov", "--json-format", "--stdout", counts], cwd=BUILD,
                              capture_output=True, text=True, check=True)
        for document in gcov.stdout.splitlines():
            for file in json.loads(document)["files"]:
                path = (BUILD / file["file"]).resolve()
                if not path.is_relative_to(SRC) or path.stem.endswith("_test"):
                    continue
                lines = files[path.relative_to(ROOT)]
                for line in file["lines"]:
                    number = line["line_number"]
                    lines[number] = lines.get(number, False) or line["count"] > 0
    return files


def ranges(numbers: list[int]) -> str:
    """Line numbers as text, consecutive ones joined: "1-3, 7"."""
    runs = []
    for _, run in groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in run]
        runs.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(runs)


def row(name: str, reached: int, total: int, note: str = "") -> None:
    print(f"{name:<40} {reached:>6} / {total:<6} {100 * reached / total:6.1f} %  {note}".rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true")
    options = parser.parse_args()
    run_tests()
    files = {path: lines for path, lines in measure().items() if lines}
    if not files:
        print(f"coverage: no .gcda files with lines of src/ in {BUILD}", file=sys.stderr)
        return 1
    folders = defaultdict(lambda: [0, 0])
    for path, lines in sorted(files.items()):
        reached = sum(lines.values())
        if options.files:
            row(str(path), reached, len(lines), ranges([n for n, hit in lines.items() if not hit]))
        for name in (str(path.parent), "total"):
            folders[name][0] += reached
            folders[name][1] += len(lines)
    folders["total"] = folders.pop("total")  # last
    for name, (reached, total) in folders.items():
        row(name, reached, total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
