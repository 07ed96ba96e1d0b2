#!/usr/bin/env python3
"""Shows Doxygen our comments: it reads /// and ///<, and the headers have plain //. The namespace
that all of them are in is left out, which would be a heading over everything.

  tools/doc_comments.py FILE    prints the header with its comments marked
"""

import re
import sys
from pathlib import Path

WHOLE = re.compile(r"^(\s*)//(?!/)( ?)(.*)$")
BEHIND = re.compile(r"^(.*\S)\s+//(?!/) ?(.*)$")
# A line that heads several declarations, as in "// --- Objects. ---", belongs to none of them.
HEADING = re.compile(r"^--- .* ---$")
NAMESPACE = re.compile(r"^(namespace verbena \{|\}  // namespace verbena)$")


def mark(lines: list[str]) -> list[str]:
    marked: list[str] = []
    follows = False  # whether the line before ended with a comment behind code
    for line in lines:
        whole, behind = WHOLE.match(line), BEHIND.match(line)
        if NAMESPACE.match(line) or (whole and HEADING.match(whole[3])):
            marked.append("")
            follows = False
        elif whole and follows and len(whole[1]) > 2:
            marked.append(f"{whole[1]}///< {whole[3]}")  # goes on with the comment behind code
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
    """What Doxygen would take for a command."""
    return re.sub(r"([@\\])", r"\\\1", text)


def main() -> int:
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    print("\n".join(mark(text.split("\n"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
