#!/usr/bin/env python3
"""Runs rdma-core's Python test suite by `verbena run`, and compares the results with a table.

usage: pyverbs_test.py LIBRARIES PROGRAMS [--write] [--only MODULE]

The suite is in Debian's python3-pyverbs, gzipped, in the documentation folder. All files except
those about devices of one vendor run as an ordinary user with a memlock limit of 64 KiB, each in a
process of its own. This test fails if a test of the suite fails, is skipped although the table has
it as passed, or is not in the table. The table is docs/pyverbs.md; --write regenerates it. Some
tests need huge pages, which only root can reserve; other users may skip them. Exits with 77, which
ctest counts as skipped, if the suite is not available.
"""

import argparse
import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import huge_pages
from ordinary_user import Bench, public_programs

SKIPPED = 77
PYTHON = "/usr/bin/python3"  # the version that the bindings are packaged for
INSTALLED = Path("/usr/share/doc/rdma-core/tests")
RUNNER = Path(__file__).with_name("pyverbs_runner.py")
PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "pyverbs.md"
OF_VENDORS = re.compile(r"test_(mlx5|efa)")
MODULE_SECONDS = 120
HUGE_PAGES = 16

# Reasons why the suite skips a test, and the text for the table.
REASONS = [
    (r"doesn't have net interface", "needs a network interface with an address"),
    (r"RAW QP must be done by root|Must be run by root",
     "raw Ethernet and flow steering, which need hardware and root"),
    (r"Device memory is not supported", "memory on the device, which has none"),
    (r"dmabuf", "memory of a graphics card"),
    (r"[Cc]uda", "memory of a graphics card"),
    (r"[Hh]uge pages", "needs huge pages, which the machine running this had none of"),
]

HEADING = """# rdma-core's test suite

Covers `libibverbs.so.1` and `librdmacm.so.1` as rdma-core's own tests see them: the suite that
Debian ships with `python3-pyverbs`, unmodified, without the files about devices of one vendor. The
test `integration.pyverbs` runs it by `verbena run` as an ordinary user, and compares the results
with this table: a test that has passed here must pass. `tests/integration/pyverbs_test.py --write`
regenerates the table.
"""


def installed_suite(scratch: Path) -> Path | None:
    """The suite's folder. Downloads the package on systems without documentation files."""
    if INSTALLED.is_dir():
        return INSTALLED
    command = ["apt-get", "download", "python3-pyverbs"]
    if subprocess.run(command, cwd=scratch, capture_output=True, check=False).returncode != 0:
        return None
    (package,) = scratch.glob("python3-pyverbs*.deb")
    subprocess.run(["dpkg-deb", "-x", package, scratch / "package"], check=True)
    return scratch / "package" / INSTALLED.relative_to("/")


def unpack(suite: Path, folder: Path) -> list[str]:
    """Copies the suite without the files of vendors; returns the names of the files with tests."""
    folder.mkdir()
    for path in sorted(suite.iterdir()):
        if OF_VENDORS.match(path.name) or path.is_dir():
            continue
        if path.suffix == ".gz":
            (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        else:
            shutil.copy(path, folder)
    return sorted(path.stem for path in folder.glob("test_*.py"))


def run(module: str, bench: Bench, verbena: Path) -> list[dict[str, str]]:
    """The result of each test of a file. A crash or timeout counts as one more failed test."""
    output = bench.folder / f"{module}.json"
    runner = bench.start([verbena, "run", "--", PYTHON, RUNNER.name, bench.folder, module,
                          output], PYTHONDONTWRITEBYTECODE="1")
    code = runner.wait(MODULE_SECONDS)
    runner.end()
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    results = [json.loads(line) for line in lines]
    for result in results:
        result["test"] = f"{module}.{result['test']}"
    if code != 0:
        ended = f"exit code {code}" if code is not None else f"ran for {MODULE_SECONDS} seconds"
        results.append({"test": f"{module}.behind_its_last_test", "outcome": "failed",
                        "why": f"{ended}\n{runner.output()}"})
    return results


def reason(why: str) -> str:
    for pattern, meaning in REASONS:
        if re.search(pattern, why):
            return meaning
    return f"the suite says: {why}"


def run_all(libraries: Path, programs: Path, only: str | None) -> list[dict[str, str]] | None:
    with Bench(libraries, RUNNER) as bench, public_programs(programs, "verbena") as folder:
        suite = installed_suite(bench.folder)
        if suite is None:
            return None
        modules = unpack(suite, bench.folder / "tests")
        return [result for module in modules if only in (None, module)
                for result in run(module, bench, folder / "verbena")]


def row(result: dict[str, str]) -> str:
    module, test = result["test"].split(".", 1)
    ended = result["outcome"]
    if ended == "skipped":
        ended = f"skipped: {reason(result['why'])}"
    return f"| `{module}` | `{test}` | {ended} |"


def write(results: list[dict[str, str]]) -> None:
    passed = sum(result["outcome"] == "passed" for result in results)
    lines = [HEADING, f"{passed} of {len(results)} pass, {len(results) - passed} are skipped.", "",
             "| file | test | result |", "| --- | --- | --- |", *map(row, results)]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read() -> dict[str, str]:
    """The result of each test in the table: passed or skipped."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    rows = re.findall(r"^\| `(\S+)` \| `(\S+)` \| (\w+)", text, re.MULTILINE)
    return {f"{module}.{test}": ended for module, test, ended in rows}


def lacks_huge_pages(result: dict[str, str], why_none: str) -> bool:
    return bool(why_none) and "uge pages" in result["why"]


def compare(results: list[dict[str, str]], known: dict[str, str], only: str | None,
            no_huge_pages: str) -> list[str]:
    problems = []
    for result in results:
        test, outcome = result["test"], result["outcome"]
        if outcome == "failed":
            problems.append(f"{test} failed:\n{result['why']}")
        elif test not in known:
            problems.append(f"{test} is not in the table")
        elif outcome == "skipped" and lacks_huge_pages(result, no_huge_pages):
            print(f"{test} was skipped: huge pages: {no_huge_pages}")
        elif outcome == "skipped" and known[test] == "passed":
            problems.append(f"{test} was skipped ({result['why']}); it passes in the table")
        elif outcome == "passed" and known[test] == "skipped":
            print(f"{test} passes here; it is skipped in the table")
    run_tests = {result["test"] for result in results}
    problems += [f"{test} is in the table, but was not run" for test in known
                 if test not in run_tests and (only is None or test.startswith(only + "."))]
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", type=Path)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", help="one file of the suite, such as test_mr")
    options = parser.parse_args()
    with huge_pages.reserved(HUGE_PAGES) as no_huge_pages:
        results = run_all(options.libraries, options.programs, options.only)
    if results is None:
        print("the suite is not installed and cannot be downloaded")
        return SKIPPED
    failed = [result for result in results if result["outcome"] == "failed"]
    if options.write and not failed and options.only is None:
        write(results)
    problems = compare(results, read(), options.only, no_huge_pages)
    for problem in problems:
        print(problem)
    print(f"{len(results)} tests, {len(failed)} failed, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
