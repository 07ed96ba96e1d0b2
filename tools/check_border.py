#!/usr/bin/env python3
"""Checks that no exception reaches a program: every function that a program can call has a handler
or cannot throw.

- An export of libibverbs.so.1 or librdmacm.so.1 marked `ours` in exports.txt, and a function that
  the operations of a context point to, is a function-try-block whose handler calls Thrown or
  ThrownNull, or is noexcept, or is listed in cannot_fail.txt of the folder.
- A function of include/verbena that returns ErrorOr is a function-try-block whose handler calls
  verbs::Thrown. The source file of a public header includes that header first."""

import argparse
import re
import sys
from pathlib import Path

import make_exports

# The drop-in libraries, a folder of src/ each.
LIBRARIES = ("ibverbs", "rdmacm")
# Exports without a handler. The C headers declare them, so they cannot be marked noexcept.
CANNOT_FAIL = "cannot_fail.txt"
# Exports that older C headers do not declare have another name in the source.
NEWER_VERBS = "src/ibverbs/newer_verbs.h"

OPERATION = re.compile(r"^\s*(?:context|ops)\.[\w.]+ = (\w+);", re.MULTILINE)
API_CALL = re.compile(r"^ErrorOr<[^;{}\n]*> ((?:\w+::)+\w+)\([^;{}]*\)[^;{}]*\{", re.MULTILINE)
LABEL = re.compile(r"(\w+)\([^;]*\)[^;]*__asm__\(\"(\w+)\"\);")
INCLUDE = re.compile(r'^#include "(.*)"', re.MULTILINE)
HANDLER = re.compile(r"\btry \{.*?\} catch \(\.\.\.\) \{(.*?)^\}", re.MULTILINE | re.DOTALL)


def cannot_fail_names(text: str) -> set[str]:
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return {line.partition(":")[0] for line in lines if line}


def definition(name: str, sources: dict[Path, str]) -> tuple[Path, int, str] | None:
    """The file and line of a function's definition, and the file's text from there on."""
    head = re.compile(r"^(?:[\w:<>]+[ *&]+)+" + re.escape(name) + r"\([^;{}]*\)[^;{}]*\{",
                      re.MULTILINE)
    for path, text in sources.items():
        if match := head.search(text):
            return path, text.count("\n", 0, match.start()) + 1, text[match.start():]
    return None


def is_guarded(text: str, thrown: str) -> bool:
    """Whether `text` begins with a function-try-block whose handler matches `thrown`."""
    head = text[:text.index("{")]
    handler = HANDLER.search(text)
    return head.rstrip().endswith("try") and handler is not None and re.search(thrown, handler[1])


class Checker:
    def __init__(self, root: Path):
        self.root = root
        self.failures: list[str] = []

    def sources(self, folder: str) -> dict[Path, str]:
        return {path.relative_to(self.root): path.read_text(encoding="utf-8")
                for path in sorted((self.root / "src" / folder).rglob("*.cc"))
                if not path.stem.endswith("_test")}

    def check(self) -> None:
        for library in LIBRARIES:
            if (self.root / "src" / library).is_dir():
                self.check_exports(library)
        self.check_api()

    def check_exports(self, library: str) -> None:
        sources = self.sources(library)
        folder = self.root / "src" / library
        listed = f"src/{library}/{CANNOT_FAIL}"
        exports = (folder / "exports.txt").read_text(encoding="utf-8")
        ours = {export.name for node in make_exports.parse(exports) for export in node.exports
                if export.kind == "ours"}
        cannot_fail = cannot_fail_names((folder / CANNOT_FAIL).read_text(encoding="utf-8"))
        for name in sorted(cannot_fail - ours):
            self.failures.append(f"{listed}: {name} is not an export marked 'ours'")
        operations = {name for path, text in sources.items() if path.stem.endswith("_ops")
                      for name in OPERATION.findall(text)}
        newer = self.root / NEWER_VERBS
        labels = LABEL.findall(newer.read_text(encoding="utf-8")) if newer.exists() else []
        source_names = {export: name for name, export in labels}
        for name in sorted(ours | operations):
            own_name = source_names.get(name, name)
            found = definition(own_name, sources)
            if found is None:
                self.failures.append(f"src/{library}: {own_name} has no definition")
            else:
                self.check_one(own_name, found, listed, name in cannot_fail)

    def check_one(self, name: str, found: tuple[Path, int, str], listed: str,
                  cannot_fail: bool) -> None:
        path, line, text = found
        guarded = is_guarded(text, r"\bThrown(?:Null)?\(")
        if cannot_fail and guarded:
            self.failures.append(f"{path}:{line}: {name} has a handler; remove it from {listed}")
        elif not cannot_fail and not guarded and "noexcept" not in text[:text.index("{")]:
            self.failures.append(f"{path}:{line}: {name} has no catch (...) handler; see "
                                 "Thrown in src/ibverbs/failure.h")

    def check_api(self) -> None:
        for path, text in self.sources("verbs").items():
            first_include = INCLUDE.search(text)
            if first_include is None or not first_include[1].startswith("verbena/"):
                continue
            for match in API_CALL.finditer(text):
                if not is_guarded(text[match.start():], r"\bverbs::Thrown\(\)"):
                    line = text.count("\n", 0, match.start()) + 1
                    self.failures.append(f"{path}:{line}: {match[1]} has no catch (...) handler; "
                                         "see src/verbs/thrown.h")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    checker = Checker(parser.parse_args().root)
    checker.check()
    for failure in checker.failures:
        print(failure)
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
