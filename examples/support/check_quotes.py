#!/usr/bin/env python3
"""Checks that the C++ code in pages is quoted from the examples, which are compiled and run.

  check_quotes.py ROOT PAGE...
"""

import re
import sys
from pathlib import Path

# "From [`examples/x.cc`](../examples/x.cc):", and the code that follows.
QUOTE = re.compile(r"^From \[`([^`]+)`\]\([^)]*\):\n\n```cpp\n(.*?)^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"^```cpp$", re.MULTILINE)


def flattened(text: str) -> str:
    """The text without indentation and line breaks, which differ between a page and its source."""
    return " ".join(text.split())


def check(root: Path, page: str) -> int:
    """The number of code blocks in the page that are wrong."""
    text = (root / page).read_text(encoding="utf-8")
    quotes = QUOTE.findall(text)
    wrong = len(CODE.findall(text)) - len(quotes)
    if wrong:
        print(f"{page}: {wrong} code blocks without a line 'From [`examples/...`]' before them")
    for source, code in quotes:
        if flattened(code) not in flattened((root / source).read_text(encoding="utf-8")):
            wrong += 1
            print(f"{page}: not in {source}:\n{code}")
    if not quotes:
        print(f"{page}: no C++ code block")
        wrong += 1
    return wrong


def main() -> int:
    root, *pages = sys.argv[1:]
    return 1 if sum(check(Path(root), page) for page in pages) else 0


if __name__ == "__main__":
    sys.exit(main())
