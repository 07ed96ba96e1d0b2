#!/usr/bin/env python3
"""What check_words.py finds, and what it lets pass."""

import unittest

import check_words


class CheckWords(unittest.TestCase):
    def found(self, line: str, path: str = "src/x.cc") -> list[str]:
        return check_words.findings(path, line)

    def test_names_of_old(self):
        for name in ("Keeper keeper(engine);", "int look_ahead_ = 0;", "LedgerOptions options;",
                     "void GoBack(Psn psn);", "KeptPacketsTest", "kStaleInstance"):
            with self.subTest(name):
                self.assertEqual(len(self.found(name)), 1)

    def test_what_was_told_to_whom(self):
        for name in ("Time told_at;", "bool error_was_told = false;", "TEST(A, ThePeerIsToldOnce)",
                     "uint32_t kNobody = 0;", "kNobodyWaits", "TEST(A, NobodyPolls)",
                     "AFolderOfSomebodyElse", "void CheckTold();"):
            with self.subTest(name):
                self.assertEqual(len(self.found(name)), 1)

    def test_persons(self):
        for line in ("// Nobody waits.", "// whoever polls", "// as he likes", "# one who sends"):
            with self.subTest(line):
                self.assertEqual(len(self.found(line)), 1)

    def test_words_of_the_field(self):
        for line in ("ProgressThread thread;", "// The poller waits.", "the history of this",
                     "for instance", "bookkeeper_of", "// in flight"):
            with self.subTest(line):
                self.assertEqual(self.found(line), [])

    def test_says_where_and_what_instead(self):
        self.assertEqual(self.found("a\nclass Ledger;"),
                         ["src/x.cc:2: 'Ledger'; here it is: resident set"])

    def test_code_in_pages_is_shown_and_not_said(self):
        self.assertEqual(self.found("the user `nobody`\n```\nUSER nobody\n```\n", "docs/x.md"), [])
        self.assertEqual(len(self.found("the user nobody\n", "docs/x.md")), 1)


if __name__ == "__main__":
    unittest.main()
