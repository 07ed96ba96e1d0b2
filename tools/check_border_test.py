#!/usr/bin/env python3
"""check_border.py reports a function without a handler, at its line, and passes a good tree."""

import tempfile
import unittest
from pathlib import Path

import check_border

GUARDED = "try {{\n  return Make();\n}} catch (...) {{\n  return {thrown};\n}}\n"

GOOD = {
    "src/ibverbs/exports.txt": "[IBVERBS_1.0]\n+ibv_old refused-int\nibv_make ours\nibv_str ours\n"
                               "ibv_query ours\n",
    "src/ibverbs/cannot_fail.txt": "# why\nibv_str: a table\n",
    "src/ibverbs/make.cc": "ibv_cq* ibv_make(ibv_context* context,\n                 int size) "
                           + GUARDED.format(thrown='ThrownNull("ibv_make")')
                           + "\nint ibv_query(int x) " + GUARDED.format(thrown='Thrown("q")'),
    "src/ibverbs/make_test.cc": "int ibv_query(int x) { return 0; }\n",
    "src/ibverbs/query/strings.cc": 'const char* ibv_str(int x) { return "x"; }\n\n'
                              "int Poll(ibv_cq* cq) noexcept {\n  return 0;\n}\n",
    "src/ibverbs/datapath/data_ops.cc": "void Fill() {\n  ops.poll_cq = Poll;\n"
                                        "  context.x.y = Create;\n}\n",
    "src/ibverbs/create.cc": "int Create(int x) " + GUARDED.format(thrown='Thrown("create")'),
    "src/verbs/cq.cc": '#include "verbena/cq.h"\n\nErrorOr<Cq> Cq::Create(int x) '
                       + GUARDED.format(thrown="Fail(verbs::Thrown())")
                       + "size_t Cq::capacity() const { return 0; }\n",
    "src/verbs/objects.cc": '#include "verbs/objects.h"\n\n#include "verbena/cq.h"\n\n'
                            "ErrorOr<void> CqObject::End() {\n  return {};\n}\n",
}


class CheckBorderTest(unittest.TestCase):
    def failures(self, changes):
        with tempfile.TemporaryDirectory() as root:
            for name, text in (GOOD | changes).items():
                path = Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            checker = check_border.Checker(Path(root))
            checker.check()
            return checker.failures

    def assert_only_failure(self, changes, *fragments):
        failures = self.failures(changes)
        self.assertEqual(len(failures), 1, failures)
        for fragment in fragments:
            self.assertIn(fragment, failures[0])

    def test_good_tree_passes(self):
        self.assertEqual(self.failures({}), [])

    def test_reports_an_export_without_a_handler(self):
        text = GOOD["src/ibverbs/make.cc"]
        first_end = text.index("int ibv_query")
        self.assert_only_failure(
            {"src/ibverbs/make.cc": text[:first_end] + "int ibv_query(int x) {\n  return x;\n}\n"},
            "src/ibverbs/make.cc:8: ", "ibv_query has no catch")

    def test_reports_a_handler_that_does_not_call_thrown(self):
        self.assert_only_failure(
            {"src/ibverbs/create.cc": "int Create(int x) " + GUARDED.format(thrown="-1")},
            "src/ibverbs/create.cc:1: ", "Create")

    def test_does_not_take_the_handler_of_the_next_function(self):
        self.assert_only_failure(
            {"src/ibverbs/create.cc": "int Create(int x) {\n  return x;\n}\n\nint Other(int x) "
                                      + GUARDED.format(thrown='Thrown("other")')}, "Create")

    def test_reports_an_export_without_a_definition(self):
        self.assert_only_failure(
            {"src/ibverbs/exports.txt": GOOD["src/ibverbs/exports.txt"] + "ibv_more ours\n"},
            "ibv_more has no definition")

    def test_reports_a_listed_function_that_has_a_handler(self):
        self.assert_only_failure(
            {"src/ibverbs/query/strings.cc": GOOD["src/ibverbs/query/strings.cc"].replace(
                '{ return "x"; }\n', GUARDED.format(thrown='ThrownNull("s")'))},
            "ibv_str has a handler")

    def test_reports_a_listed_function_that_is_no_export(self):
        self.assert_only_failure(
            {"src/ibverbs/exports.txt": GOOD["src/ibverbs/exports.txt"].replace("ibv_str ours\n",
                                                                                "")},
            "cannot_fail.txt: ibv_str is not an export")

    def test_reports_an_api_function_without_a_handler(self):
        self.assert_only_failure(
            {"src/verbs/cq.cc": '#include "verbena/cq.h"\n\n'
                                "ErrorOr<Cq> Cq::Create(int x) {\n  return {};\n}\n"},
            "src/verbs/cq.cc:3: ", "Cq::Create")


if __name__ == "__main__":
    unittest.main()
