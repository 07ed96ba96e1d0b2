#!/usr/bin/env python3
"""check_tidy.py reports each kind of violation, at its line, and passes a good tree."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import check_tidy

SCRIPT = Path(__file__).resolve().parent / "check_tidy.py"

GOOD = {
    "README.md": "# Title\n\n[key](src/memory/key.h#L1), [web](https://example.org/a), [up](#x)\n"
                 "\n```sh\n# not a title\n[no](link.md)\n```\n\n## More\n",
    "docs/page.md": "# Page\n\n[readme](../README.md) [root](/README.md)\n",
    "src/memory/key.h": "#pragma once\n",
    "src/memory/key.cc": '#include "memory/key.h"\n',
    "src/memory/key_test.cc": '#include "memory/key.h"\n',
    "Makefile": "all:\n\ttrue\n",
}


class CheckTidyTest(unittest.TestCase):
    def run_on(self, changes):
        with tempfile.TemporaryDirectory() as root:
            for name, text in (GOOD | changes).items():
                path = Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode("utf-8"))
            result = subprocess.run([sys.executable, SCRIPT, "--root", root],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(result.stderr, "")
            return result.returncode, result.stdout

    def assert_passes(self, changes):
        self.assertEqual(self.run_on(changes), (0, ""))

    def assert_only_failure(self, changes, *fragments):
        code, output = self.run_on(changes)
        self.assertEqual(code, 1, output)
        self.assertEqual(len(output.splitlines()), 1, output)
        for fragment in fragments:
            self.assertIn(fragment, output)

    def test_good_tree_passes(self):
        self.assert_passes({})

    def test_reports_long_files(self):
        for folder in ("src/memory", "sim", "include/verbena"):
            with self.subTest(folder):
                self.assert_passes({f"{folder}/a.h": "\n" * 400})
                code, output = self.run_on({f"{folder}/a.h": "\n" * 401})
                self.assertEqual((code, output[:9]), (0, "warning: "))
                self.assertIn("401 lines", output)
                self.assertEqual(self.run_on({f"{folder}/a.h": "\n" * 600})[0], 0)
                self.assert_only_failure({f"{folder}/a.h": "\n" * 601}, f"{folder}/a.h:601: ")

    def test_files_outside_src_may_be_long(self):
        self.assert_passes({"tests/a.cc": "\n" * 700})

    def test_reports_long_lines(self):
        self.assert_passes({"src/memory/key.h": "x" * 100 + "\n", "tools/a.py": "é" * 100})
        self.assert_only_failure({"src/memory/key.h": "\n" + "x" * 101 + "\n"},
                                 "src/memory/key.h:2: ", "101 columns")
        self.assert_only_failure({"tools/a.py": "x" * 101}, "tools/a.py:1: ")
        self.assert_passes({"src/memory/key.h": "// https://example.org/" + "x" * 100 + "\n"})
        self.assert_passes({"README.md": "# T\n\n" + "x" * 200 + "\n"})

    def test_reports_tabs_and_trailing_blanks(self):
        self.assert_only_failure({"src/memory/key.h": "\n\tint x;\n"}, ":2: tab")
        self.assert_only_failure({"docs/page.md": "# Page \n"}, "docs/page.md:1: trailing blanks")
        self.assert_only_failure({"src/memory/key.h": "int x;\r\n"}, ":1: trailing blanks")

    def test_reports_banned_identifiers(self):
        for code, instead in {
            "auto t = std::chrono::steady_clock::now();": "take the time as an argument",
            "auto t = std::chrono::system_clock::now();": "take the time as an argument",
            "clock_gettime(CLOCK_MONOTONIC, &t);": "take the time as an argument",
            "gettimeofday(&t, nullptr);": "take the time as an argument",
            "auto t = time(nullptr);": "take the time as an argument",
            "std::random_device d;": "take a generator",
            "int x = rand();": "take a generator",
            "secure_getenv(name);": "take an option",
            "getenv(name);": "use secure_getenv",
            "std::ifstream in(name);": "an interface",
            "std::cout << 1;": "return the value",
            "std::printf(x);": "return the value",
            "assert(x > 0);": "use CHECK or DCHECK",
        }.items():
            with self.subTest(code):
                self.assert_only_failure({"src/memory/key.h": f"\n\n{code}\n"},
                                         "src/memory/key.h:3: ", "is banned: ", instead)
                self.assert_passes({"tests/a.cc": code + "\n"})

    def test_accepts_names_that_resemble_banned_ones(self):
        for code in ("static_assert(sizeof(int) == 4);", "int operand(int);", "snprintf(b, 1, f);",
                     "using Clock = std::chrono::steady_clock;", "wall_time(nullptr);",
                     "// rand() is bad", "/* assert(x)\n assert(y) */", 'Log("getenv(x)");',
                     'auto s = R"x(assert("1"))x";', "char c = '\"'; // rand()",
                     "int million = 1'000'000; // assert(x)"):
            with self.subTest(code):
                self.assert_passes({"src/memory/key.h": code + "\n"})

    def test_checks_code_after_literals(self):
        for code in ("int m = 1'000'000; assert(m);", "f('\"'); assert(m);", 'f("\\""); assert(m);',
                     "f(0xff'ff); assert(m);"):
            with self.subTest(code):
                self.assert_only_failure({"src/memory/key.h": code + "\n"}, "assert is banned")

    def test_edge_folders_may_read_the_clock_and_the_environment(self):
        for path in ("src/fabric/udp.h", "src/memory/uffd.h", "src/adapter/loop/progress_thread.h",
                     "src/cli/run.h"):
            with self.subTest(path):
                self.assert_passes({path: "clock_gettime(1, &t); secure_getenv(n); rand();\n"})
        self.assert_passes({"src/cli/run.h": "printf(x); getenv(n);\n"})
        self.assert_only_failure({"src/ibverbs/log.h": "std::getenv(n);\n"}, "use secure_getenv")
        self.assert_only_failure({"src/fabric/udp.h": "printf(x);\n"}, "src/cli/*")
        self.assert_only_failure({"src/cli/run.h": "assert(x);\n"}, "assert is banned")

    def test_reports_leftover_markers(self):
        for word in ("TODO", "FIXME", "XXX"):
            with self.subTest(word):
                self.assert_only_failure({"src/memory/key.h": f"\n// {word}: later\n"},
                                         "src/memory/key.h:2: ", word)
                self.assert_only_failure({"tools/a.sh": f"# {word}\n"}, "tools/a.sh:1: ")
        self.assert_passes({"src/memory/key.h": "int kTODOs;\n"})

    def test_every_source_has_a_test(self):
        self.assert_only_failure({"src/memory/deep/atom.cc": ""},
                                 "src/memory/deep/atom.cc:1: no atom_test.cc")
        self.assert_passes({"src/memory/a.cc": "", "src/memory/a_test.cc": ""})
        self.assert_passes({"examples/tour.cc": ""})

    def test_reports_an_exception_that_is_no_longer_needed(self):
        with tempfile.TemporaryDirectory() as root, \
                mock.patch.dict(check_tidy.UNTESTED, {"src/cli/main.cc": "three lines"}):
            folder = Path(root, "src/cli")
            folder.mkdir(parents=True)
            for name, failures in (("main.cc", 0), ("main_test.cc", 1)):
                (folder / name).touch()
                checker = check_tidy.Checker(Path(root))
                checker.check()
                self.assertEqual(len(checker.failures), failures, checker.failures)

    def test_requires_one_title_per_page(self):
        self.assert_only_failure({"docs/page.md": "text\n"}, "docs/page.md:1: 0 titles")
        self.assert_only_failure({"docs/page.md": "# A\n\n# B\n"}, "docs/page.md:1: 2 titles")

    def test_reports_a_link_to_a_missing_file(self):
        self.assert_only_failure({"docs/page.md": "# A\n\nsee [b](b.md#part)\n"},
                                 "docs/page.md:3: link to b.md")
        self.assert_only_failure({"docs/page.md": "# A\n\n![b](/docs/b.png)\n"}, "/docs/b.png")


if __name__ == "__main__":
    unittest.main()
