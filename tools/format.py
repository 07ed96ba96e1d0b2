#!/usr/bin/env python3
"""Formats all C++ files of the project with clang-format; --check only lists unformatted files."""

import subprocess
import sys
from pathlib import Path

import source_tree

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(f"usage: {Path(__file__).name} [--check]", file=sys.stderr)
        return 2
    sources = source_tree.files(ROOT, *source_tree.CPP)
    if not sources:
        return 0
    mode = ["--dry-run", "-Werror"] if arguments else ["-i"]
    return subprocess.run(["clang-format", *mode, *sources], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
