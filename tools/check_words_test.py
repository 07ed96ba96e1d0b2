#!/usr/bin/env python3
"""check_words.py reports avoided words and accepts words of the field."""

import unittest

import check_words


class CheckWords(unittest.TestCase):
    def found(self, line: str, path: str = "src/x.cc") -> list[str]:
        return check_words.findings(path, line)

    def test_reports_project_names_for_known_things(self):
        for name in ("Keeper keeper(engine);", "int look_ahead_ = 0;", "LedgerOptions options;",
                     "void GoBack(Psn psn);", "KeptPacketsTest", "kStaleInstance"):
            with self.subTest(name):
                self.assertEqual(len(self.found(name)), 1)

    def test_reports_persons_in_identifiers(self):
        for name in ("Time told_at;", "bool error_was_told = false;", "TEST(A, ThePeerIsToldOnce)",
                     "uint32_t kNobody = 0;", "kNobodyWaits", "TEST(A, NobodyPolls)",
                     "AFolderOfSomebodyElse", "void CheckTold();"):
            with self.subTest(name):
                self.assertEqual(len(self.found(name)), 1)

    def test_reports_figurative_words(self):
        for line in ("// The one door to the kernel.", "# registers it anew", "void RunToRest();",
                     "class KeyBook;", "class Judge:", "judge(result)", "Vandal vandal(pages);",
                     "// in due course", "has_door = True"):
            with self.subTest(line):
                self.assertEqual(len(self.found(line)), 1)

    def test_reports_persons_in_prose(self):
        for line in ("// Nobody waits.", "// whoever polls", "// as he likes", "# one who sends"):
            with self.subTest(line):
                self.assertEqual(len(self.found(line)), 1)

    def test_accepts_words_of_the_field(self):
        for line in ("ProgressThread thread;", "// The poller waits.", "the history of this",
                     "for instance", "bookkeeper_of", "// in flight", "// rings the doorbell",
                     "// renewed", "prejudge"):
            with self.subTest(line):
                self.assertEqual(self.found(line), [])

    def test_prints_the_line_and_the_word_to_use(self):
        self.assertEqual(self.found("a\nclass Ledger;"),
                         ["src/x.cc:2: 'Ledger'; use instead: resident set"])

    def test_ignores_code_in_pages(self):
        self.assertEqual(self.found("the user `nobody`\n```\nUSER nobody\n```\n", "docs/x.md"), [])
        self.assertEqual(len(self.found("the user nobody\n", "docs/x.md")), 1)


if __name__ == "__main__":
    unittest.main()
