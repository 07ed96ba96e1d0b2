#!/usr/bin/env python3
"""Doxygen input filter: turns the plain // comments of a header into /// and ///<, which Doxygen
reads. Drops the namespace, which would be a heading above everything.

  tools/doc_comments.py FILE    prints the header with its comments marked
"""

import re
import sys
from pathlib import Path

WHOLE = re.compile(r"^(\s*)//(?!/)( ?)(.*)$")
BEHIND = re.compile(r"^(.*\S)\s+//(?!/) ?(.*)$")
# A heading of several declarations ("// --- Objects. ---") must not attach to the next one.
HEADING = re.compile(r"^--- .* ---$")
NAMESPACE = re.compile(r"^(namespace verbena \{|\}  // namespace verbena)$")


def mark(lines: list[str]) -> list[str]:
    marked: list[str] = []
    follows = False  # whether the previous line ends with a comment after code
    for line in lines:
        whole, behind = WHOLE.match(line), BEHIND.match(line)
        if NAMESPACE.match(line) or (whole and HEADING.match(whole[3])):
            marked.append("")
            follows = False
        elif whole and follows and len(whole[1]) > 2:
            marked.append(f"{whole[1]}///< {whole[3]}")  # continues the comment after code
        elif whole:
            marked.append(f"{whole[1]}/// {escape(whole[3])}")
            follows = False
        elif behind and '"' not in behind[2] and not behind[1].startswith("}"):
            marked.append(f"{behind[1]}  ///< {escape(behind[2])}")
            follows = True
        else:
            marked.append(line)
            follows = False
    return marked


def escape(text: str) -> str:
    """Escapes the characters that begin a Doxygen command."""
    return re.sub(r"([@\\])", r"\\\1", text)


def main() -> int:
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    print("\n".join(mark(text.split("\n"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
