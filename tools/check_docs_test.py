#!/usr/bin/env python3
"""check_docs.py reports each kind of broken reference, at its line, and passes good pages."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "check_docs.py"

ROW = ("### A1 Keys\n\nA program has keys.\n\n- Status: {status}. Well.\n- Code: `{code}`\n"
       "- Tests: {tests}\n")
PLACE = "<!-- tools/check_docs.py --write: -->\n{}<!-- end of the table -->\n"
COUNTS = ("| group | done | partly | core only | not yet |\n| --- | ---: | ---: | ---: | ---: |\n"
          "| A | 1 | 0 | 0 | 0 |\n")
LIST = ("| | decision | date | status |\n| --- | --- | --- | --- |\n"
        "| D1 | [Keys are keys](memory.md#d1-keys-are-keys) | 2026-01-02 | accepted |\n")
MEMORY = "# Memory\n\n## D1 Keys are keys\n\n2026-01-02, accepted.\n\nBecause.\n"


def requirements(status="done", code="src/key.h", tests="`KeyTest`, `KeyTest.IsOne`, "
                 "`integration.programs`", counts=COUNTS):
    return "# Rows\n\n" + PLACE.format(counts) + "\n" + ROW.format(status=status, code=code,
                                                                   tests=tests)


GOOD = {
    "docs/requirements.md": requirements(),
    "docs/decisions/README.md": "# Decisions\n\n" + PLACE.format(LIST),
    "docs/decisions/memory.md": MEMORY,
    "docs/page.md": "# Page\n\n[here](#the-end-of-x)\n"
                    "[there](decisions/memory.md#d1-keys-are-keys)\n\n## The end of `x`\n",
    "src/key.h": "// Row A1, DESIGN D1.\n",
    "src/key_test.cc": "TEST_F(KeyTest,\n       IsOne) {}\n",
    "tests/CMakeLists.txt": "verbena_program_test(programs)\n",
}


class CheckDocsTest(unittest.TestCase):
    def run_on(self, changes, *options):
        """Exit code, output, and the requirements afterwards."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in (GOOD | changes).items():
                path = Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            result = subprocess.run([sys.executable, SCRIPT, "--root", root, *options],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(result.stderr, "")
            return (result.returncode, result.stdout,
                    Path(root, "docs/requirements.md").read_text(encoding="utf-8"))

    def assert_only_failure(self, changes, *fragments):
        code, output, _ = self.run_on(changes)
        self.assertEqual(code, 1, output)
        self.assertEqual(len(output.splitlines()), 1, output)
        for fragment in fragments:
            self.assertIn(fragment, output)

    def test_good_pages_pass(self):
        self.assertEqual(self.run_on({})[:2], (0, ""))

    def test_reports_a_file_that_does_not_exist(self):
        self.assert_only_failure({"docs/requirements.md": requirements(code="src/lock.h")},
                                 "docs/requirements.md:", "row A1 names src/lock.h")

    def test_reports_a_test_that_does_not_exist(self):
        for name in ("LockTest", "KeyTest.IsTwo", "integration.others"):
            with self.subTest(name):
                self.assert_only_failure({"docs/requirements.md": requirements(tests=f"`{name}`")},
                                         f"row A1 names {name}")

    def test_reports_an_unknown_status(self):
        changes = {"docs/requirements.md": requirements(status="nearly"), "src/key.h": ""}
        code, output, _ = self.run_on(changes)
        self.assertEqual(code, 1)
        self.assertIn("row A1 lacks", output)

    def test_reports_an_unknown_row(self):
        for text in ("// row A2\n", "// Rows A1 and B3.\n", "// (rows A1, C4)\n"):
            with self.subTest(text):
                self.assert_only_failure({"src/lock.h": "\n" + text}, "src/lock.h:2: ",
                                         "is not in docs/requirements.md")

    def test_reports_an_unknown_decision(self):
        for text in ("// DESIGN D2: so.\n", "// See decision D2.\n"):
            with self.subTest(text):
                self.assert_only_failure({"src/lock.h": text}, "src/lock.h:1: ", "D2")

    def test_reports_a_decision_without_date_or_known_status(self):
        for line in ("accepted.", "2026-01-02, hoped for."):
            with self.subTest(line):
                text = MEMORY.replace("2026-01-02, accepted.", line)
                code, output, _ = self.run_on({"docs/decisions/memory.md": text})
                self.assertEqual(code, 1)
                self.assertIn("docs/decisions/memory.md:3: D1 ", output)

    def test_reports_a_decision_number_used_twice(self):
        code, output, _ = self.run_on({"docs/decisions/wire.md": MEMORY})
        self.assertEqual(code, 1)
        self.assertIn("D1 where D2 is expected", output)

    def test_reports_a_link_to_an_unknown_section(self):
        self.assert_only_failure({"docs/page.md": "# Page\n\n[x](requirements.md#b1-more)\n"},
                                 "docs/page.md:3: ", "#b1-more")

    def test_reports_an_unknown_name(self):
        for name in ("lock.h", "memory/lock.h", "KeyRing", "Key::IsOdd", "KeyTest.IsTwo"):
            with self.subTest(name):
                self.assert_only_failure({"docs/page.md": f"# Page\n\nSee `{name}`.\n"},
                                         "docs/page.md:3: ", f"`{name}`: no such name")

    def test_accepts_names_that_exist(self):
        names = ("key.h", "src/key.h", "KeyTest", "KeyTest.IsOne", "make test", "EINVAL", "errno")
        text = "# Page\n\n" + " ".join(f"`{name}`" for name in names) + "\n"
        self.assertEqual(self.run_on({"docs/page.md": text})[:2], (0, ""))

    def test_ignores_links_in_code_blocks(self):
        self.assertEqual(self.run_on({"docs/page.md": "# Page\n\n```\n[x](#no)\n```\n"})[0], 0)

    def test_write_updates_outdated_counts(self):
        changes = {"docs/requirements.md": requirements(counts=COUNTS.replace("| 1 |", "| 2 |"))}
        self.assert_only_failure(changes, "not up to date")
        code, _, text = self.run_on(changes, "--write")
        self.assertEqual((code, text), (0, GOOD["docs/requirements.md"]))


if __name__ == "__main__":
    unittest.main()
