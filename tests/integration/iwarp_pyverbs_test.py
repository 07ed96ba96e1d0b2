#!/usr/bin/env python3
"""Runs the tests of rdma-core's Python suite that connect by librdmacm over iWARP, by TCP and by
SCTP.

usage: iwarp_pyverbs_test.py LIBRARIES PROGRAMS [--all]

The suite is that of pyverbs_test.py, and runs as there. Those of its tests that an RNIC cannot run
are listed here with the reason, and in docs/iwarp.md; --all runs them, too. Exits with 77, which
ctest counts as skipped, if the suite is not available.
"""

import argparse
import json
import sys
from pathlib import Path

from ordinary_user import Bench, public_programs
from pyverbs_test import MODULE_SECONDS, PYTHON, RUNNER, SKIPPED, installed_suite, unpack

MODULE = "test_rdmacm"
TRANSPORTS = ("iwarp", "iwarp-sctp")
PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "iwarp.md"

GOOD = ("sync_traffic", "async_reject_traffic", "async_read", "async_write")
MULTICAST = "an RNIC has no multicast"
OTHERS = {"async_multicast_traffic": MULTICAST,
          "async_ex_multicast_traffic": MULTICAST,
          "async_ex_leave_multicast_traffic": MULTICAST,
          "async_udp_traffic": "an RNIC has no datagrams",
          "async_traffic": "it sets the ACK timeout of a queue pair; TCP has a timeout of its own",
          "async_traffic_external_qp":
              "it moves its own queue pair to RTS, and expects the connection to wait for that"}


def name_of(test: str) -> str:
    return f"CMTestCase.test_rdmacm_{test}"


def run(libraries: Path, programs: Path, transport: str, tests) -> list[dict[str, str]] | None:
    """What was recorded of each test; None if there is no suite."""
    with Bench(libraries, RUNNER) as bench, public_programs(programs, "verbena") as folder:
        suite = installed_suite(bench.folder)
        if suite is None:
            return None
        unpack(suite, bench.folder / "tests")
        output = bench.folder / "results.json"
        names = ",".join(f"{MODULE}.{name_of(test)}" for test in tests)
        process = bench.start([folder / "verbena", "run", f"--transport={transport}", "--", PYTHON,
                               RUNNER.name, bench.folder, names, output],
                              PYTHONDONTWRITEBYTECODE="1")
        code = process.wait(MODULE_SECONDS)
        process.end()
        if code != 0:
            print(f"the suite ended with {code}:\n{process.output()}")
        lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
        return [json.loads(line) for line in lines]


def problems_of(results: list[dict[str, str]]) -> list[str]:
    passed = {result["test"] for result in results if result["outcome"] == "passed"}
    problems = [f"{result['test']} {result['outcome']}: {result['why']}" for result in results
                if result["test"] in map(name_of, GOOD) and result["outcome"] != "passed"]
    problems += [f"{name_of(test)} did not run" for test in GOOD
                 if name_of(test) not in {result["test"] for result in results}]
    problems += [f"{name_of(test)} passes: list it as one that runs" for test in OTHERS
                 if name_of(test) in passed]
    page = PAGE.read_text(encoding="utf-8")
    return problems + [f"{PAGE.name} does not name {test}" for test in (*GOOD, *OTHERS)
                       if f"`{test}`" not in page]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", type=Path)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    tests = (*GOOD, *OTHERS) if arguments.all else GOOD
    problems = []
    for transport in TRANSPORTS:
        results = run(arguments.libraries, arguments.programs, transport, tests)
        if results is None:
            print("the test suite of python3-pyverbs is not available")
            return SKIPPED
        for result in results:
            print(f"{transport:10} {result['outcome']:8} {result['test']}")
        problems += [f"{transport}: {problem}" for problem in problems_of(results)]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
