#!/usr/bin/env python3
"""Breaks the code on purpose, one rule at a time, and sees that a test notices.

Works on a copy of the tree in build/mutants/. Each mutant replaces one piece of text, rebuilds the
program that has to notice (the model of the memory core, the simulator, or unit tests) and runs it
within bounds. Fails when a mutant survives, and when the text to replace is not there exactly once:
the mutants must follow the code. The table of results is in docs/testing.md.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

import adapter_mutants
import cache_mutants
import cm_mutants
import managed_mutants
import memory_mutants
import transport_mutants
from mutant import Judge, Mutant

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
TREE, BUILD = WORK / "tree", WORK / "build"
COPIED = ["CMakeLists.txt", "cmake", "include", "models", "packaging", "sim", "src", "tests",
          "tools"]
# Each program is built more often than it is run.
OPTIONS = ["-DVERBENA_PARTS=tests", "-DCMAKE_BUILD_TYPE=Mutants", "-DCMAKE_CXX_FLAGS_MUTANTS=-O1"]

PAGE = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- tools/mutants.py --write: -->\n", "<!-- end of the mutants -->\n"
HEAD = "| broken rule | file in `src` | what notices | how soon |\n| --- | --- | --- | ---: |\n"
ROW = re.compile(r"^\| (.+) \| `(.+)` \| (.+) \| (.+) \|$", re.MULTILINE)

MUTANTS = (memory_mutants.MUTANTS + transport_mutants.MUTANTS + cm_mutants.MUTANTS +
           adapter_mutants.MUTANTS + managed_mutants.MUTANTS + cache_mutants.MUTANTS)


def copy_tree() -> None:
    """Brings the copy up to date, touching only files that differ so that little is rebuilt."""
    wanted = set()
    for name in COPIED:
        top = ROOT / name
        for source in [top] if top.is_file() else sorted(p for p in top.rglob("*") if p.is_file()):
            target = TREE / source.relative_to(ROOT)
            wanted.add(target)
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())
    for stale in [p for p in TREE.rglob("*") if p.is_file() and p not in wanted]:
        stale.unlink()


def build(targets: set[str]) -> str:
    """Returns what the compiler said when it failed."""
    made = subprocess.run(["cmake", "--build", BUILD, "--target", *sorted(targets)],
                          capture_output=True, text=True, check=False)
    return "" if made.returncode == 0 else made.stdout + made.stderr


def prepare(mutants: list[Mutant]) -> str:
    """Builds all that judges, and sees that it has nothing to say yet. What went wrong."""
    copy_tree()
    subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", *OPTIONS], check=True,
                   stdout=subprocess.DEVNULL)
    judges: set[Judge] = {mutant.judge for mutant in mutants}
    complaint = build({judge.target for judge in judges})
    if complaint:
        return complaint
    for judge in sorted(judges, key=lambda judge: judge.title):
        if said := judge.run(BUILD / "bin" / judge.target):
            return f"without any mutant {judge.title}: {said}"
    return ""


def try_mutant(mutant: Mutant) -> tuple[bool, str]:
    """Whether it was caught, and how soon or why not."""
    path = TREE / "src" / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        return False, f"the text to replace is there {text.count(mutant.old)} times"
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        complaint = build({mutant.judge.target})
        if complaint:
            return False, f"does not compile:\n{complaint}"
        result = mutant.judge.run(BUILD / "bin" / mutant.judge.target)
        return result is not None, result or "NOT CAUGHT"
    finally:
        path.write_text(text, encoding="utf-8")


def table_of(page: str) -> str:
    """What is between the marks."""
    return page.partition(BEGIN)[2].partition(END)[0]


def write_table(results: dict[str, str]) -> None:
    """Results of this run, and of those before for what was not part of it."""
    page = PAGE.read_text(encoding="utf-8")
    known = {row[0]: row[3] for row in ROW.findall(table_of(page))} | results
    rows = "".join(f"| {m.rule} | `{m.file}` | {m.judge.title} | {known.get(m.rule, 'not run')} |\n"
                   for m in MUTANTS)
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(before + BEGIN + HEAD + rows + END + rest.partition(END)[2], encoding="utf-8")


def check() -> list[str]:
    """Without running any: what does not fit between the mutants, the code and the table."""
    wrong = []
    for mutant in MUTANTS:
        path = ROOT / "src" / mutant.file
        times = path.read_text(encoding="utf-8").count(mutant.old) if path.is_file() else 0
        if times != 1:
            wrong.append(f"{mutant.rule}: the text to replace is {times} times in {path}")
    rows = ROW.findall(table_of(PAGE.read_text(encoding="utf-8")))
    if [row[:3] for row in rows] != [(m.rule, m.file, m.judge.title) for m in MUTANTS]:
        wrong.append(f"the table in {PAGE} is not of these mutants: tools/mutants.py --write")
    wrong += [f"{row[0]}: {row[3]}" for row in rows if re.match("not run|NOT CAUGHT", row[3])]
    return wrong


def run_all(mutants: list[Mutant]) -> tuple[dict[str, str], list[str]]:
    """How soon each was noticed, and which were not."""
    results, survivors = {}, []
    for number, mutant in enumerate(mutants, 1):
        begin = time.monotonic()
        caught, how = try_mutant(mutant)
        print(f"{number:3}/{len(mutants)} {time.monotonic() - begin:4.0f} s  {mutant.rule}: "
              f"{mutant.judge.title}: {how}", flush=True)
        if caught:
            results[mutant.rule] = how
        else:
            survivors.append(mutant.rule)
    return results, survivors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN",
                        help="mutants whose rule, file or judge matches this regular expression")
    parser.add_argument("--write", action="store_true", help="write the results to docs/testing.md")
    parser.add_argument("--check", action="store_true",
                        help="run none: see that code, mutants and the table are of each other")
    options = parser.parse_args()
    if options.check:
        wrong = check()
        print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
        return 1 if wrong else 0
    mutants = [m for m in MUTANTS
               if re.search(options.only, f"{m.rule} {m.file} {m.judge.title}")]
    if complaint := prepare(mutants):
        print(complaint, file=sys.stderr)
        return 1
    results, survivors = run_all(mutants)
    if options.write:
        write_table(results)
    print(f"\n{len(survivors)} of {len(mutants)} not caught: {survivors}" if survivors
          else f"\nall {len(mutants)} caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
