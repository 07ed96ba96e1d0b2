#!/usr/bin/env python3
"""check_layers.py reports each kind of violation, at its line, and passes a good tree."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "check_layers.py"

GOOD = {
    "src/base/CMakeLists.txt": "verbena_layer(base LIBRARIES tl::expected)\n",
    "src/base/check.h": "#pragma once\n#include <memory>\n",
    "src/base/deep/ring.h": '#include "base/check.h"\n',
    "src/wire/CMakeLists.txt": "# bytes\nverbena_layer(\n  wire\n  DEPENDS base)\n",
    "src/wire/bth.h": '#pragma once\n#include "base/check.h"\n',
    "src/memory/CMakeLists.txt": "verbena_layer(memory DEPENDS base PRECOMPILED <list>\n"
                                 "  TEST_LIBRARIES rt TEST_PRECOMPILED <set>)\n",
    "src/memory/key.h": '#include <gtest/gtest.h>\n\n#include "base/check.h"\n',
    "src/memory/key.cc": '#include "memory/key.h"\n',
    "src/transport/CMakeLists.txt": "verbena_layer(transport DEPENDS base memory)\n",
    "src/transport/qp.h": '#include "memory/key.h"\n',
    "src/verbs/CMakeLists.txt": "verbena_layer(verbs DEPENDS base)\n",
    "src/verbs/post.cc": '#include "verbena/verbena.h"\n',
    "include/verbena/verbena.h": '#include "verbena/qp.h"\n#include <cstdint>\n',
    "tests/model/oracle.cc": '#include "model/oracle.h"\n#include "memory/key.h"\n',
}


class CheckLayersTest(unittest.TestCase):
    def run_on(self, changes):
        """Exit code and output for the good tree with some files replaced or added."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in (GOOD | changes).items():
                path = Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            result = subprocess.run([sys.executable, SCRIPT, "--root", root],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(result.stderr, "")
            return result.returncode, result.stdout

    def assert_only_violation(self, changes, *fragments):
        code, output = self.run_on(changes)
        self.assertEqual(code, 1, output)
        self.assertEqual(len(output.splitlines()), 1, output)
        for fragment in fragments:
            self.assertIn(fragment, output)

    def test_good_tree_passes(self):
        self.assertEqual(self.run_on({}), (0, ""))

    def test_reports_an_include_of_a_higher_layer(self):
        self.assert_only_violation(
            {"src/base/check.h": '#pragma once\n\n#include "memory/key.h"\n'},
            "src/base/check.h:3: ", 'base includes "memory/key.h"',
            "base may include nothing, and the values of")

    def test_every_layer_may_include_the_value_headers_of_the_api(self):
        self.assertEqual(self.run_on({"src/memory/key.h": '#include "verbena/numbers.h"\n'}),
                         (0, ""))

    def test_reports_an_inner_layer_that_includes_a_handle(self):
        self.assert_only_violation({"src/memory/key.h": '#include "verbena/queue_pair.h"\n'},
                                   "src/memory/key.h:1: ",
                                   "memory may include base, and the values")

    def test_reports_an_include_of_a_layer_of_the_same_level(self):
        self.assert_only_violation({"src/memory/key.h": '#include "wire/bth.h"\n'},
                                   "src/memory/key.h:1: ", "memory may include base")

    def test_unit_tests_obey_the_layers_too(self):
        self.assert_only_violation({"src/memory/key_test.cc": '#  include "wire/bth.h"\n'},
                                   "src/memory/key_test.cc:1: ")

    def test_a_subfolder_includes_only_those_before_it(self):
        tree = {"src/memory/copy/span.h": "", "src/memory/spaces/guest.h": "",
                "src/memory/protection/table.h": '#include "memory/copy/span.h"\n',
                "src/memory/memory_core.h": '#include "memory/protection/table.h"\n',
                "src/memory/copy/span_test.cc": '#include "memory/spaces/guest.h"\n'}
        self.assertEqual(self.run_on(tree), (0, ""))
        self.assert_only_violation(
            tree | {"src/memory/copy/copier.h": '#include "memory/spaces/guest.h"\n'},
            "src/memory/copy/copier.h:1: ",
            "the order in memory is: copy, translation, spaces, protection")
        self.assert_only_violation(
            tree | {"src/memory/key.h": '#include "memory/copy/span.h"\n'},
            "src/memory/key.h:1: ", "may not include")

    def test_services_do_not_include_each_other(self):
        self.assert_only_violation(
            {"src/transport/rc/rc_qp.h": "",
             "src/transport/ud/ud_qp.h": '#include "transport/rc/rc_qp.h"\n'},
            "src/transport/ud/ud_qp.h:1: ", "may not include")

    def test_reports_a_dependency_that_is_not_allowed(self):
        self.assert_only_violation(
            {"src/memory/CMakeLists.txt": "verbena_layer(memory\n  DEPENDS base\n  wire)\n"},
            "src/memory/CMakeLists.txt:3: ", "memory depends on wire",
            "memory may depend on base")

    def test_reports_a_dependency_that_is_not_a_layer(self):
        self.assert_only_violation(
            {"src/memory/CMakeLists.txt": "verbena_layer(memory DEPENDS base sim)\n"},
            "memory depends on sim")

    def test_reports_an_include_of_a_layer_missing_in_depends(self):
        self.assert_only_violation(
            {"src/transport/CMakeLists.txt": "verbena_layer(transport DEPENDS base)\n"},
            "src/transport/qp.h:1: ", "memory is not in DEPENDS",
            "src/transport/CMakeLists.txt")

    def test_ignores_a_commented_dependency(self):
        self.assert_only_violation(
            {"src/transport/CMakeLists.txt": "verbena_layer(transport DEPENDS base # memory\n)\n"},
            "memory is not in DEPENDS")

    def test_reports_a_layer_linked_without_depends(self):
        self.assert_only_violation(
            {"src/memory/CMakeLists.txt":
             "verbena_layer(memory DEPENDS base\n LIBRARIES verbena_wire)\n"},
            "src/memory/CMakeLists.txt:2: ", "verbena_wire", "DEPENDS")

    def test_reports_a_layer_declared_under_another_name(self):
        self.assert_only_violation({"src/wire/CMakeLists.txt": "verbena_layer(queue)\n",
                                    "src/wire/bth.h": ""},
                                   "src/wire/CMakeLists.txt:1: ", "verbena_layer(wire ...)")

    def test_reports_a_layer_without_a_build_file(self):
        self.assert_only_violation({"src/queue/wqe.h": ""}, "src/queue/CMakeLists.txt:1: ")

    def test_reports_an_unknown_layer(self):
        self.assert_only_violation({"src/util/a.h": '#include "base/check.h"\n'},
                                   "src/util:1: ", "util is not in the layer table")

    def test_reports_an_include_of_a_folder_outside_src(self):
        for outside in ("sim", "tests", "fuzz", "bench", "examples"):
            with self.subTest(outside):
                self.assert_only_violation(
                    {"src/memory/key.cc": f'#include "{outside}/x.h"\n'},
                    "src/memory/key.cc:1: ", f"nothing in src may use {outside}/")

    def test_only_unit_tests_may_include_fixtures(self):
        fixture = '#include "tests/support/fixture.h"\n'
        self.assertEqual(self.run_on({"src/memory/key_test.cc": fixture}), (0, ""))
        self.assert_only_violation({"src/memory/key.cc": fixture}, "src/memory/key.cc:1: ",
                                   "nothing in src may use tests/")
        self.assert_only_violation(
            {"src/memory/key_test.cc": '#include "tests/model/oracle.h"\n'},
            "src/memory/key_test.cc:1: ", "nothing in src may use tests/")

    def test_reports_an_include_not_written_from_the_src_root(self):
        for target in ("key.h", "./key.h", "../base/check.h", "src/base/check.h", "rc/key.h"):
            with self.subTest(target):
                self.assert_only_violation({"src/memory/key.cc": f'#include "{target}"\n'},
                                           "src/memory/key.cc:1: ", target,
                                           "not written from the src root")

    def test_reports_a_project_header_in_angle_brackets(self):
        self.assert_only_violation({"src/memory/key.cc": "#include <memory/key.h>\n"},
                                   "src/memory/key.cc:1: ", 'write "memory/key.h"')

    def test_programs_outside_src_include_from_the_src_root_too(self):
        self.assert_only_violation({"tests/model/oracle.cc": '#include "../../src/base/check.h"\n'},
                                   "tests/model/oracle.cc:1: ", "not written from the src root")

    def test_reports_a_public_header_that_includes_a_layer(self):
        self.assert_only_violation({"include/verbena/verbena.h": '#include "base/check.h"\n'},
                                   "include/verbena/verbena.h:1: ", "a public header")


if __name__ == "__main__":
    unittest.main()
