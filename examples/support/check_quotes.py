#!/usr/bin/env python3
"""Holds the code in a page to the examples: what a page shows must have been compiled and run."""

import re
import sys
from pathlib import Path

# "From [`examples/x.cc`](../examples/x.cc):", and the code that follows.
QUOTE = re.compile(r"^From \[`([^`]+)`\]\([^)]*\):\n\n```cpp\n(.*?)^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"^```cpp$", re.MULTILINE)


def flattened(text: str) -> str:
    """Without indentation and line breaks, which differ between a page and its source."""
    return " ".join(text.split())


def main() -> int:
    root, page = Path(sys.argv[1]), Path(sys.argv[2])
    text = (root / page).read_text(encoding="utf-8")
    quotes = QUOTE.findall(text)
    wrong = len(CODE.findall(text)) - len(quotes)
    if wrong:
        print(f"{page}: {wrong} pieces of code do not say which example they are from")
    for source, code in quotes:
        if flattened(code) not in flattened((root / source).read_text(encoding="utf-8")):
            wrong += 1
            print(f"{page}: not in {source}:\n{code}")
    if not quotes:
        print(f"{page}: no code at all")
    return 1 if wrong or not quotes else 0


if __name__ == "__main__":
    sys.exit(main())
