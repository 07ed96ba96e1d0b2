#!/usr/bin/env python3
"""Comments appear in the API reference, and pages in the menu. Needs neither Sphinx nor Doxygen."""

import tempfile
import unittest
from pathlib import Path

import doc_comments
import docs

HEADER = """\
namespace verbena {

// What is special about a region. Mail a@b.
struct RegionOptions {
  // --- Keys. ---

  // The first byte.
  uint64_t start = 0;
  bool zero_based = false;  // peers count from 0
  enum class Kind : uint8_t {
    kOne,  // this is long
           // and goes on
  };
  const char* slashes = "// no comment";
};

}  // namespace verbena
"""

MARKED = """\


/// What is special about a region. Mail a\\@b.
struct RegionOptions {


  /// The first byte.
  uint64_t start = 0;
  bool zero_based = false;  ///< peers count from 0
  enum class Kind : uint8_t {
    kOne,  ///< this is long
           ///< and goes on
  };
  const char* slashes = "// no comment";
};


"""


class DocsTest(unittest.TestCase):
    def test_turns_comments_into_doxygen_comments(self):
        self.assertEqual("\n".join(doc_comments.mark(HEADER.split("\n"))), MARKED)

    def test_every_page_is_in_the_menu(self):
        docs.check_menu(docs.ROOT)

    def test_reports_a_page_that_is_not_in_the_menu(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for entries in docs.MENU.values():
                for entry in (entry for entry in entries if entry != "api/index"):
                    (root / entry).parent.mkdir(parents=True, exist_ok=True)
                    (root / f"{entry}.md").touch()
            docs.check_menu(root)
            (root / "docs" / "new.md").touch()
            with self.assertRaisesRegex(SystemExit, "docs/new.md is not in MENU"):
                docs.check_menu(root)

    def test_copies_linked_files_with_the_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "root").resolve()
            for name, text in {"docs/page.md": "[`a`](../src/a.h) [b](other.md) [c](https://c)",
                               "docs/other.md": "", "src/a.h": "int a;"}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            docs.copy_with_links(root, root.parent / "copy")
            copied = sorted(str(path.relative_to(root.parent / "copy"))
                            for path in (root.parent / "copy").rglob("*") if path.is_file())
            self.assertEqual(copied, ["docs/other.md", "docs/page.md", "src/a.h"])


if __name__ == "__main__":
    unittest.main()
