"""Runs one file of rdma-core's test suite, or some tests of it, and records the result of each.

usage: pyverbs_runner.py FOLDER MODULE[.CLASS.TEST][,...] OUTPUT; run by pyverbs_test.py and
iwarp_pyverbs_test.py, with the system's Python.

Writes a line of JSON per test to OUTPUT: its name, "passed", "skipped" or "failed", and the reason.
"""

import json
import sys
import unittest


class Recorder(unittest.TestResult):
    """Writes a line when a test ends, because the next test can crash the process."""

    def __init__(self, output):
        super().__init__()
        self.output = output

    def record(self, test, outcome, why=""):
        # "tests.test_mr.MRTest.test_reg" is MRTest.test_reg of its file.
        name = ".".join(test.id().split(".")[-2:])
        self.output.write(json.dumps({"test": name, "outcome": outcome, "why": why}) + "\n")
        self.output.flush()

    def addSuccess(self, test):
        self.record(test, "passed")

    def addSkip(self, test, reason):
        self.record(test, "skipped", reason)

    def addError(self, test, err):
        self.record(test, "failed", self._exc_info_to_string(err, test))

    addFailure = addError


def main() -> int:
    folder, names, output = sys.argv[1:]
    sys.argv = [sys.argv[0]]
    # The suite is a package, but its files also import each other without the package name.
    sys.path[:0] = [folder, f"{folder}/tests"]
    from args_parser import parser
    parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromNames(
        [f"tests.{name}" for name in names.split(",")])
    with open(output, "w", encoding="utf-8") as lines:
        suite.run(Recorder(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
