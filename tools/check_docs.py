#!/usr/bin/env python3
"""Checks that references in the documentation resolve.

- Every file and test named in docs/requirements.md exists.
- Every "row E9" or "DESIGN D6" in the tree is a row of that page or a section of docs/decisions.
- Every link to a section has a heading as its target.
- Every `file.h`, `ClassName` and `Class::Member` on a page occurs in the tree.

  tools/check_docs.py            prints one line per failure
  tools/check_docs.py --write    also regenerates the counts of rows and the list of decisions
"""

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

import source_tree

REQUIREMENTS = Path("docs/requirements.md")
DECISIONS = Path("docs/decisions")
OTHERS = (".S", ".c", ".cmake", ".json", ".map", ".md", ".py", ".sh", ".txt")
STATUSES = ("done", "partly", "core only", "not yet")
DECISION_STATUSES = ("accepted", "changed", "partly built")

# These files contain references as examples.
EXEMPT = {"tools/check_docs.py", "tools/check_docs_test.py"}

ROW = re.compile(r"^### ([A-E]\d+) .+\n\n.+\n\n"
                 rf"- Status: ({'|'.join(STATUSES)})\b.*\n"
                 r"- Code: (.+)\n- Tests: (.+)$", re.MULTILINE)
ROW_TITLE = re.compile(r"^### ([A-E]\d+) ", re.MULTILINE)
DECISION = re.compile(r"^## D(\d+) (.+)\n\n(\d{4}-\d\d-\d\d), ([a-z ]+)\.$", re.MULTILINE)
DECISION_TITLE = re.compile(r"^## D(\d+) ", re.MULTILINE)
ROWS_NAMED = re.compile(r"\b[Rr]ows?\s+([A-E]\d+(?:(?:,\s*|\s+and\s+|\s+to\s+)[A-E]\d+)*)")
DECISIONS_NAMED = re.compile(r"\b(?:DESIGN|[Dd]ecision)\s+D(\d+)\b")
# Names as pages quote them: `engine.cc`, `RcQp`, `Engine::Pass`, `WindowsTest.IsBound`.
FILE_NAME = re.compile(r"[\w./-]+\.(?:h|cc|S|py|sh|cmake|txt|map|md)")
CODE_NAME = re.compile(r"(?=.*(?:[a-z][A-Z]|::))[A-Za-z_]\w*(?:(?:::|\.)\w+)*(?:\(\))?")
# Placeholder names that are in no file, and a page with the names of rdma-core's tests.
EXAMPLES = {"x.h", "x.cc", "x_test.cc", "CamelCase", "kConstant", "RssShmem",
            "verbena-sim-paging-SEED.txt"}
FOREIGN = {"docs/pyverbs.md"}
QUOTED = re.compile(r"`([^`\n]+)`")
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
# Not prose: code blocks, and the lists of a row, which check_rows covers.
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
LISTS = re.compile(r"^- (?:Code|Tests): .*$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^()\s#]*)#([^()\s]+)\)")
GENERATED = re.compile(r"(<!-- tools/check_docs.py --write: -->\n)(.*?)(<!-- end of the)",
                       re.DOTALL)


class Row(NamedTuple):
    name: str
    status: str
    code: list[str]
    tests: list[str]


class Decision(NamedTuple):
    number: int
    title: str
    date: str
    status: str
    page: str


def blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def slug(heading: str) -> str:
    """The anchor that GitHub and Sphinx derive from a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Checker:
    def __init__(self, root: Path):
        self.root = root
        self.failures: list[str] = []
        self.files = source_tree.files(root, *source_tree.CPP, *OTHERS)
        self.texts = {path: (root / path).read_text(encoding="utf-8") for path in self.files}
        self.rows = self.read_rows()
        self.decisions = self.read_decisions()

    def fail(self, path: Path, offset: int, message: str) -> None:
        line = self.texts[path].count("\n", 0, offset) + 1
        self.failures.append(f"{path}:{line}: {message}")

    def read_rows(self) -> dict[str, Row]:
        text = self.texts.get(REQUIREMENTS, "")
        rows = {}
        for match in ROW.finditer(text):
            if match[1] in rows:
                self.fail(REQUIREMENTS, match.start(), f"row {match[1]} is defined twice")
            rows[match[1]] = Row(match[1], match[2], QUOTED.findall(match[3]),
                                 QUOTED.findall(match[4]))
        for match in ROW_TITLE.finditer(text):
            if match[1] not in rows:
                self.fail(REQUIREMENTS, match.start(),
                          f"row {match[1]} lacks a paragraph, or a line for status "
                          f"({', '.join(STATUSES)}), code or tests")
        return rows

    def read_decisions(self) -> list[Decision]:
        found = []
        for path in sorted(p for p in self.texts if p.parent == DECISIONS):
            text = self.texts[path]
            whole = [Decision(int(m[1]), m[2], m[3], m[4], path.name)
                     for m in DECISION.finditer(text)]
            numbers = {decision.number for decision in whole}
            for match in DECISION_TITLE.finditer(text):
                if int(match[1]) not in numbers:
                    self.fail(path, match.start(), f"D{match[1]} lacks a line 'date, status.'")
            for decision in whole:
                if decision.status not in DECISION_STATUSES:
                    self.fail(path, text.index(f"## D{decision.number} "),
                              f"D{decision.number} is '{decision.status}'; one of "
                              f"{', '.join(DECISION_STATUSES)}")
            found += whole
        found.sort()
        for place, decision in enumerate(found, 1):
            if decision.number != place:
                self.failures.append(f"{DECISIONS}/{decision.page}: D{decision.number} where "
                                     f"D{place} is expected: a number is missing or used twice")
                break
        return found

    def check(self) -> None:
        self.check_rows()
        words = self.words()
        for path, text in self.texts.items():
            if path.as_posix() not in EXEMPT:
                self.check_references(path, text)
            if path.suffix == ".md":
                prose = LISTS.sub(blank, FENCE.sub(blank, text))
                self.check_links(path, prose)
                if path.as_posix() not in FOREIGN:
                    self.check_names(path, prose, words)
        for path, table in self.tables().items():
            match = GENERATED.search(self.texts.get(path, ""))
            if match is None:
                self.failures.append(f"{path}:1: no '--write' marker for the generated table")
            elif match[2] != table:
                self.fail(path, match.start(), "not up to date; run tools/check_docs.py --write")

    def check_rows(self) -> None:
        tests, suites = set(), set()
        for text in self.texts.values():
            for suite, name in TEST.findall(text):
                suites.add(suite)
                tests.add(f"{suite}.{name}")
        known = tests | suites
        ctest = self.texts.get(Path("tests/CMakeLists.txt"), "")
        text = self.texts.get(REQUIREMENTS, "")
        for row in self.rows.values():
            place = text.index(f"### {row.name} ")
            for name in row.code + row.tests:
                if "/" in name:
                    exists = (self.root / name).exists()
                elif name.startswith("integration."):
                    exists = re.search(rf"\b{name.partition('.')[2]}\b", ctest) is not None
                else:
                    exists = name in known
                if not exists:
                    self.fail(REQUIREMENTS, place,
                              f"row {row.name} names {name}: no such file or test")

    def check_references(self, path: Path, text: str) -> None:
        for match in ROWS_NAMED.finditer(text):
            for row in re.findall(r"[A-E]\d+", match[1]):
                if row not in self.rows:
                    self.fail(path, match.start(), f"row {row} is not in {REQUIREMENTS}")
        numbers = {decision.number for decision in self.decisions}
        for match in DECISIONS_NAMED.finditer(text):
            if int(match[1]) not in numbers:
                self.fail(path, match.start(), f"D{match[1]} is not in {DECISIONS}")

    def words(self) -> set[str]:
        """All identifiers of the tree, outside of the pages."""
        return {word for path, text in self.texts.items()
                if path.suffix != ".md" and path.as_posix() not in EXEMPT
                for word in re.findall(r"\w+", text)}

    def check_names(self, path: Path, prose: str, words: set[str]) -> None:
        files = [other.as_posix() for other in self.files]
        for match in QUOTED.finditer(prose):
            name = match[1]
            if name in EXAMPLES:
                continue
            if FILE_NAME.fullmatch(name):
                exists = any(file == name or file.endswith("/" + name) for file in files)
            elif CODE_NAME.fullmatch(name):
                exists = words.issuperset(re.findall(r"\w+", name))
            else:
                continue
            if not exists:
                self.fail(path, match.start(), f"`{name}`: no such name in the tree")

    def check_links(self, path: Path, prose: str) -> None:
        for match in LINK.finditer(prose):
            if ":" in match[1]:
                continue
            page = Path((self.root / path).parent, match[1]).resolve() if match[1] \
                else (self.root / path).resolve()
            target = self.texts.get(page.relative_to(self.root.resolve()))
            if target is None or page.suffix != ".md":
                continue  # not a page, or a line of a source: tools/check_tidy.py checks the file
            headings = HEADING.findall(FENCE.sub("", target))
            if match[2] not in {slug(heading) for heading in headings}:
                self.fail(path, match.start(), f"link to #{match[2]}: the page has no such section")

    def tables(self) -> dict[Path, str]:
        counts = ["| group | " + " | ".join(STATUSES) + " |", "| --- |" + " ---: |" * len(STATUSES)]
        for group in sorted({name[0] for name in self.rows}):
            of_group = [row.status for row in self.rows.values() if row.name[0] == group]
            counts.append(f"| {group} | "
                          + " | ".join(str(of_group.count(status)) for status in STATUSES) + " |")
        listing = ["| | decision | date | status |", "| --- | --- | --- | --- |"]
        for d in self.decisions:
            link = f"{d.page}#{slug(f'D{d.number} {d.title}')}"
            listing.append(f"| D{d.number} | [{d.title}]({link}) | {d.date} | {d.status} |")
        return {REQUIREMENTS: "\n".join(counts) + "\n",
                DECISIONS / "README.md": "\n".join(listing) + "\n"}

    def write(self) -> None:
        for path, table in self.tables().items():
            text = GENERATED.sub(lambda m, new=table: m[1] + new + m[3], self.texts[path])
            (self.root / path).write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    checker = Checker(arguments.root)
    if arguments.write:
        checker.write()
        checker = Checker(arguments.root)
    checker.check()
    for failure in checker.failures:
        print(failure)
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
