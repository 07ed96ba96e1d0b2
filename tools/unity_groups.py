#!/usr/bin/env python3
"""Divides source files into groups, each of which can be compiled as one translation unit.

Files that declare the same name at namespace scope (a helper `Make`, a constant `kPage`) are in
different groups. Prints a line per file: the number of its group, a space, the file; a file that is
alone in its group has the number -1. Used by cmake/VerbenaUnity.cmake.

usage: unity_groups.py SIZE FILE...
"""

import re
import sys
from pathlib import Path

# Formatted code declares namespace-scope names in lines that start in the first column. The name of
# a function is before its parenthesis, of a type after its keyword, of a variable before `=`, `{`
# or `;`.
TYPE = re.compile(r"^(?:enum class|enum|struct|class|union) (?:alignas\(\w+\) )?(\w+)")
ALIAS = re.compile(r"^using (\w+) =")
USING = re.compile(r"^using [\w:]*::(\w+);")
DEFINE = re.compile(r"^#define (\w+)")
FUNCTION = re.compile(r"^[\w:<>,&*\[\] ]*?(?:[\s*&]|^)(~?\w+)\(")
VARIABLE = re.compile(r"^(?:[\w:<>,&*]+ )+\*?(\w+)(?:\[\w*\])?(?: =|\{|\(|;)")
MORE_VARIABLES = re.compile(r", \*?(\w+)(?: = |\{)")
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|INSTANTIATE_\w+|TYPED_TEST_SUITE\w*)\(")
KEYWORDS = {"if", "for", "while", "switch", "return", "namespace", "static_assert", "template"}


def names_of(text: str) -> set[str]:
    names = set()
    for line in text.splitlines():
        if not line or line[0] in " }/" or TEST.match(line):
            continue
        for pattern in (TYPE, ALIAS, USING, DEFINE, FUNCTION, VARIABLE):
            match = pattern.match(line)
            if match:
                names.add(match[1])
        if line.startswith(("constexpr ", "const ", "constinit ")):
            names.update(MORE_VARIABLES.findall(line))
    return names - KEYWORDS


def group(files: list[tuple[str, set[str]]], size: int) -> list[list[str]]:
    """First fit: each file goes to the first group that is not full and shares no name with it."""
    groups = []
    for file, names in files:
        for members, taken in groups:
            if len(members) < size and not names & taken:
                members.append(file)
                taken |= names
                break
        else:
            groups.append(([file], set(names)))
    return [members for members, _ in groups]


def main() -> None:
    size, files = int(sys.argv[1]), sys.argv[2:]
    groups = group([(file, names_of(Path(file).read_text())) for file in files], size)
    for number, members in enumerate(groups):
        for file in members:
            print(number if len(members) > 1 else -1, file)


if __name__ == "__main__":
    main()
