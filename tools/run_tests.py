#!/usr/bin/env python3
"""Runs the test suites and ends with one line: tests: N passed, N failed, N skipped.

A suite is a test preset of CMakePresets.json whose build directory is built. Fails if a test fails,
if a suite cannot run, or if no test ran at all.
"""

import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "test-reports"
SUITES = ["release", "asan-ubsan", "tsan"]

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

# The message of ctest for a test that is skipped or disabled. Any other test that did not run
# (because its program is missing, for example) has failed.
INTENDED_SKIP = re.compile(r"^(SKIP_|Disabled)")
PASSED_CASE = re.compile(r"ok +[0-9.]+ s |\[ +(OK|RUN) +\]")
GTEST_REASON = re.compile(r": Skipped\n(.*?)\n\s*\[  SKIPPED \]", re.DOTALL)


class Result(NamedTuple):
    name: str
    outcome: str
    text: str  # a failed test's output, a skipped test's reason


def fixed_addresses() -> list[str]:
    """A command prefix that disables address randomisation where permitted: the fixed shadow memory
    of the sanitizers collides with the randomised layouts of newer kernels."""
    prefix = ["setarch", "-R"]
    if not shutil.which(prefix[0]):
        return []
    allowed = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    return prefix if allowed else []


def skip_reason(output: str, message: str) -> str:
    match = GTEST_REASON.search(output)
    reason = match[1] if match else "disabled" if message == "Disabled" else ""
    return " ".join(reason.split()) or "no reason given"


def read_case(suite: str, case: ElementTree.Element) -> Result:
    name = f"{suite}: {case.get('name')}"
    output = case.findtext("system-out") or ""
    if case.get("status") == "run":
        return Result(name, PASSED, "")
    skipped = case.find("skipped")
    message = skipped.get("message", "") if skipped is not None else ""
    if case.get("status") == "disabled" or INTENDED_SKIP.match(message):
        return Result(name, SKIPPED, skip_reason(output, message or "Disabled"))
    return Result(name, FAILED, output.strip() or message)


def read_program(suite: str, report: Path) -> list[Result]:
    """The results in the GoogleTest report of one program."""
    results = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{suite}: {report.stem} {case.get('classname')}.{case.get('name')}"
        failures = [failure.text or "" for failure in case.iter("failure")]
        skipped = case.find("skipped")
        if failures:
            results.append(Result(name, FAILED, "\n".join(failures).strip()))
        elif skipped is not None:
            reason = skipped.get("message", "").partition("\n")[2] or skipped.get("message", "")
            results.append(Result(name, SKIPPED, " ".join(reason.split()) or "no reason given"))
        elif case.get("status") == "run":
            results.append(Result(name, PASSED, ""))
        else:
            results.append(Result(name, SKIPPED, "disabled"))
    return results


def read_suite(suite: str, build: Path, root: ElementTree.Element) -> list[Result]:
    """The result of each ctest test. A program with a GoogleTest report counts as its single tests,
    plus a failure of its own if it failed although all its tests passed (a leak at exit)."""
    results = []
    for case in root.iter("testcase"):
        of_ctest = read_case(suite, case)
        program = build / "gtest" / f"{case.get('name')}.xml"
        if not program.exists():
            results.append(of_ctest)
            continue
        tests = read_program(suite, program)
        results += tests
        if of_ctest.outcome == FAILED and not any(t.outcome == FAILED for t in tests):
            results.append(of_ctest)
    return results


def run_suite(suite: str) -> list[Result]:
    build = ROOT / "build" / ("" if suite == "release" else suite)
    if not (build / "CTestTestfile.cmake").exists():  # ctest succeeds when it finds no tests
        return [Result(f"{suite}: build", FAILED, f"not built; try: make build-{suite}")]
    report = REPORTS / f"{suite}.xml"
    report.unlink(missing_ok=True)
    shutil.rmtree(build / "gtest", ignore_errors=True)
    ctest = subprocess.run(
        [*fixed_addresses(), "ctest", "--preset", suite, "--output-junit", str(report)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        check=False)
    results = []
    if report.exists():
        results = read_suite(suite, build, ElementTree.parse(report).getroot())
    if ctest.returncode != 0 and not any(r.outcome == FAILED for r in results):
        results.append(Result(f"{suite}: ctest itself", FAILED, ctest.stdout.strip()))
    return results


def without_passed(output: str) -> str:
    """The output of a test program without the lines of the cases that passed."""
    return "\n".join(line for line in output.splitlines() if not PASSED_CASE.match(line))


def tally(results: list[Result]) -> str:
    count = {outcome: sum(r.outcome == outcome for r in results)
             for outcome in (PASSED, FAILED, SKIPPED)}
    return ", ".join(f"{number} {outcome}" for outcome, number in count.items())


def main(suites: list[str]) -> int:
    REPORTS.mkdir(parents=True, exist_ok=True)
    results = []
    for suite in suites or SUITES:
        print(f"{suite:<12}", end="", flush=True)
        start = time.monotonic()
        mine = run_suite(suite)
        print(f"{tally(mine)}  ({time.monotonic() - start:.1f} s)", flush=True)
        failures = [r for r in mine if r.outcome == FAILED]
        for failure in failures:
            print(f"failed  {failure.name}", flush=True)
        for failure in failures:
            print(f"\n--- {failure.name}\n{without_passed(failure.text)}\n", flush=True)
        results += mine
    for skipped in (r for r in results if r.outcome == SKIPPED):
        print(f"skipped {skipped.name}: {skipped.text}")
    for failure in (r for r in results if r.outcome == FAILED):
        print(f"failed  {failure.name}")
    print(f"tests: {tally(results)}")
    ran = any(r.outcome != SKIPPED for r in results)
    return 0 if ran and not any(r.outcome == FAILED for r in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
