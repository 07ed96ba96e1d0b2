#!/usr/bin/env python3
"""run_tests.py counts failed tests, and tells apart those that pass when they are run alone."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import run_tests
from run_tests import FAILED, PASSED, SKIPPED, UNRELIABLE, Result


class SecondRunTest(unittest.TestCase):
    def test_a_test_that_passes_alone_is_unreliable_and_keeps_its_output(self):
        first = [Result("a", PASSED, ""), Result("b", FAILED, "too late")]
        merged = run_tests.with_second_run(first, [Result("b", PASSED, "")])
        self.assertEqual(merged, [first[0], Result("b", UNRELIABLE, "too late")])
        self.assertEqual(run_tests.tally(merged), "2 passed, 0 failed, 0 skipped")

    def test_a_test_that_fails_twice_has_failed(self):
        first = [Result("b", FAILED, "wrong")]
        merged = run_tests.with_second_run(first, [Result("b", FAILED, "wrong again")])
        self.assertEqual(merged, first)
        self.assertEqual(run_tests.tally(merged), "0 passed, 1 failed, 0 skipped")

    def test_a_test_that_did_not_run_again_has_failed(self):
        first = [Result("b", FAILED, "wrong")]
        for second in ([], [Result("b", SKIPPED, "no root")]):
            self.assertEqual(run_tests.with_second_run(first, second), first)

    def test_another_failure_of_the_second_run_counts(self):
        first = [Result("p a", FAILED, "late"), Result("p b", PASSED, "")]
        merged = run_tests.with_second_run(
            first, [Result("p a", PASSED, ""), Result("p b", FAILED, "crash")])
        self.assertIn(Result("p b", FAILED, "crash"), merged)


class ReportTest(unittest.TestCase):
    def test_a_program_that_ended_before_its_report_has_failed(self):
        says = "[----------] Global test environment set-up.\n[ RUN      ] A.B\n"
        with tempfile.TemporaryDirectory() as folder:
            build = Path(folder)
            for each in ("gtest", "bin"):
                (build / each).mkdir()
            (build / "bin" / "a_test").touch()
            passed = Result("asan: a_test", PASSED, "")
            found = run_tests.without_report(passed, "a_test", build, says)
            self.assertEqual(found.outcome, FAILED)
            self.assertIn("A.B", found.text)
            for name, output in (("other", says), ("a_test", "ok")):
                self.assertEqual(run_tests.without_report(passed, name, build, output), passed)


class SummaryTest(unittest.TestCase):
    def test_names_what_is_unreliable(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            run_tests.print_summary([Result("a", UNRELIABLE, "late")])
        self.assertIn("unreliable a: failed, and passed when it was run alone", out.getvalue())
        self.assertTrue(out.getvalue().endswith("tests: 1 passed, 0 failed, 0 skipped\n"))


if __name__ == "__main__":
    unittest.main()
