#!/usr/bin/env python3
"""Runs the test suites and ends with one line: tests: N passed, N failed, N skipped.

A suite is a test preset of CMakePresets.json whose build directory is built. Fails if a test fails,
if a suite cannot run, or if no test ran at all.

A few failed tests are run once more, one at a time. A test that passes then is unreliable: it does
not fail the run, but is listed with the output of its failure. --strict has no second run.
"""

import argparse
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

PASSED, FAILED, SKIPPED, UNRELIABLE = "passed", "failed", "skipped", "unreliable"

# More failures than these at once are no accident, and are not repeated.
REPEATED_MAX = 5

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


def without_report(result: Result, name: str, build: Path, output: str) -> Result:
    """A program that should have written a GoogleTest report at its end, as others of the suite
    did, has failed, whatever its exit code: the tests behind that point did not run."""
    is_due = (build / "gtest").is_dir() and (build / "bin" / name).exists()
    if result.outcome != PASSED or not is_due or "Global test environment set-up" not in output:
        return result
    return result._replace(outcome=FAILED, text=f"ended before its last test\n{output.strip()}")


def read_suite(suite: str, build: Path, root: ElementTree.Element) -> list[Result]:
    """The result of each ctest test. A program with a GoogleTest report counts as its single tests,
    plus a failure of its own if it failed although all its tests passed (a leak at exit)."""
    results = []
    for case in root.iter("testcase"):
        of_ctest = read_case(suite, case)
        program = build / "gtest" / f"{case.get('name')}.xml"
        if not program.exists():
            results.append(without_report(of_ctest, program.stem, build,
                                          case.findtext("system-out") or ""))
            continue
        tests = read_program(suite, program)
        results += tests
        if of_ctest.outcome == FAILED and not any(t.outcome == FAILED for t in tests):
            results.append(of_ctest)
    return results


def build_of(suite: str) -> Path:
    return ROOT / "build" / ("" if suite == "release" else suite)


def run_ctest(suite: str, report: Path, *arguments: str) -> list[Result]:
    build = build_of(suite)
    report.unlink(missing_ok=True)
    shutil.rmtree(build / "gtest", ignore_errors=True)
    ctest = subprocess.run(
        [*fixed_addresses(), "ctest", "--preset", suite, "--output-junit", str(report), *arguments],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        check=False)
    results = []
    if report.exists():
        results = read_suite(suite, build, ElementTree.parse(report).getroot())
    if ctest.returncode != 0 and not any(r.outcome == FAILED for r in results):
        results.append(Result(f"{suite}: ctest itself", FAILED, ctest.stdout.strip()))
    return results


def with_second_run(results: list[Result], second: list[Result]) -> list[Result]:
    """The results of a suite, in which a failed test that passed the second time is unreliable."""
    passed = {r.name for r in second if r.outcome == PASSED}
    failed = {r.name for r in results if r.outcome == FAILED}
    marked = [r._replace(outcome=UNRELIABLE) if r.name in failed & passed else r for r in results]
    # Under ASan one program has many tests, and the second run may fail in another one of them.
    return marked + [r for r in second if r.outcome == FAILED and r.name not in failed]


def run_suite(suite: str, strict: bool) -> list[Result]:
    if not (build_of(suite) / "CTestTestfile.cmake").exists():  # ctest succeeds without tests
        return [Result(f"{suite}: build", FAILED, f"not built; try: make build-{suite}")]
    results = run_ctest(suite, REPORTS / f"{suite}.xml")
    failures = sum(r.outcome == FAILED for r in results)
    if strict or not 0 < failures <= REPEATED_MAX:
        return results
    second = run_ctest(suite, REPORTS / f"{suite}-again.xml", "--rerun-failed", "--parallel", "1")
    return with_second_run(results, second)


def without_passed(output: str) -> str:
    """The output of a test program without the lines of the cases that passed."""
    return "\n".join(line for line in output.splitlines() if not PASSED_CASE.match(line))


def tally(results: list[Result]) -> str:
    count = {outcome: sum(r.outcome == outcome for r in results)
             for outcome in (PASSED, FAILED, SKIPPED)}
    count[PASSED] += sum(r.outcome == UNRELIABLE for r in results)
    return ", ".join(f"{number} {outcome}" for outcome, number in count.items())


def print_failures(results: list[Result]) -> None:
    failures = [r for r in results if r.outcome in (FAILED, UNRELIABLE)]
    for failure in failures:
        print(f"{failure.outcome:<8}{failure.name}", flush=True)
    for failure in failures:
        print(f"\n--- {failure.name}\n{without_passed(failure.text)}\n", flush=True)


def print_summary(results: list[Result]) -> None:
    for skipped in (r for r in results if r.outcome == SKIPPED):
        print(f"skipped {skipped.name}: {skipped.text}")
    for unreliable in (r for r in results if r.outcome == UNRELIABLE):
        print(f"unreliable {unreliable.name}: failed, and passed when it was run alone")
    for failure in (r for r in results if r.outcome == FAILED):
        print(f"failed  {failure.name}")
    print(f"tests: {tally(results)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=SUITES, help="default: all")
    parser.add_argument("--strict", action="store_true", help="failed tests are not run again")
    options = parser.parse_args()
    REPORTS.mkdir(parents=True, exist_ok=True)
    results = []
    for suite in options.suites:
        print(f"{suite:<12}", end="", flush=True)
        start = time.monotonic()
        mine = run_suite(suite, options.strict)
        print(f"{tally(mine)}  ({time.monotonic() - start:.1f} s)", flush=True)
        print_failures(mine)
        results += mine
    print_summary(results)
    ran = any(r.outcome != SKIPPED for r in results)
    return 0 if ran and not any(r.outcome == FAILED for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
