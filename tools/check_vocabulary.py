#!/usr/bin/env python3
"""Checks that no two headers of include/ and src/ define a type of the same name.

A value that two layers share has one type, in a value header of include/verbena, so that it is not
converted between layers. Different things have different names. The table below lists the
exceptions at namespace level, with the reason for each.
"""

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

import source_tree

_HANDLE = "a handle of the API, and the adapter's object that it owns"
_C_STRUCT = "a C structure of libibverbs that contains a handle, in namespace ibverbs"

# Names that two headers may define, and why.
TWICE = {
    "CompletionChannel": _HANDLE,
    "CompletionQueue": _HANDLE,
    "Context": _C_STRUCT,
    "Cq": _C_STRUCT,
    "QueuePair": _HANDLE,
    "SharedReceiveQueue": _HANDLE,
    "Srq": _C_STRUCT,
    "XrcDomain": _HANDLE,
}

# In formatted code a definition at namespace level starts in the first column.
DEFINITION = re.compile(
    r"^(?:template <.*>\s+)?(?:class|struct|union|enum(?: class)?)\s+(?:\[\[\w+\]\]\s+)?"
    r"(?:alignas\(\w+\)\s+)?(?:VERBENA_\w+(?:\([^)]*\))?\s+)?(\w+)\s*(final\b|:[^:]|\{|<|$)")
ALIAS = re.compile(r"^using\s+(\w+)\s*=")


def definitions(text: str):
    """(line number, name) of each type that a header defines at namespace level."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := DEFINITION.match(line) or ALIAS.match(line):
            yield number, match[1]


def findings(headers: dict[str, str], twice: dict[str, str]) -> list[str]:
    """`headers` maps the path of a header to its text."""
    places = defaultdict(dict)
    for path, text in headers.items():
        for number, name in definitions(text):
            places[name].setdefault(path, number)
    found = []
    for name, at in sorted(places.items()):
        if len(at) > 1 and name not in twice:
            first, *others = at
            found.append(f"{first}:{at[first]}: {name} is also defined in {', '.join(others)}; "
                         "use one type if it is the same value, otherwise another name")
    for name in sorted(twice):
        if len(places[name]) < 2:
            found.append(f"tools/check_vocabulary.py:1: {name} is in TWICE, but is not defined "
                         "twice")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    headers = {str(path): (root / path).read_text(encoding="utf-8")
               for path in source_tree.files(root, ".h") if path.parts[0] in ("include", "src")}
    found = findings(headers, TWICE)
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
