#!/usr/bin/env python3
"""Mutation testing: breaks one rule of the code at a time and checks that a test fails.

Works on a copy of the tree in build/mutants/. Each mutant replaces one piece of text, rebuilds the
program that must detect it (the memory model, the simulator or unit tests) and runs that program
with a time limit. Fails if a mutant survives, or if the text to replace does not occur exactly once
in its file. docs/testing.md has the table of results.
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
import guest_mutants
import iwarp_mutants
import managed_mutants
import memory_mutants
import transport_mutants
from mutant import Detector, Mutant

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
TREE, BUILD = WORK / "tree", WORK / "build"
COPIED = ["CMakeLists.txt", "cmake", "include", "models", "packaging", "sim", "src", "tests",
          "tools"]
# -O1: every mutant needs a build, so build time matters more than run time. VERBENA_QUICK: without
# warnings, because a rule that is left out may leave a variable unused.
OPTIONS = ["-DVERBENA_PARTS=tests", "-DVERBENA_QUICK=ON", "-DCMAKE_BUILD_TYPE=Mutants",
           "-DCMAKE_CXX_FLAGS_MUTANTS=-O1"]

PAGE = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- tools/mutants.py --write: -->\n", "<!-- end of the mutants -->\n"
HEAD = "| broken rule | file in `src` | detected by | after |\n| --- | --- | --- | ---: |\n"
ROW = re.compile(r"^\| (.+) \| `(.+)` \| (.+) \| (.+) \|$", re.MULTILINE)

MUTANTS = (memory_mutants.MUTANTS + transport_mutants.MUTANTS + cm_mutants.MUTANTS +
           iwarp_mutants.MUTANTS + adapter_mutants.MUTANTS + managed_mutants.MUTANTS +
           guest_mutants.MUTANTS + cache_mutants.MUTANTS)


def copy_tree() -> None:
    """Updates the copy. Writes only files that differ, so that few are rebuilt."""
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
    """Returns the output of a failed build, or an empty string."""
    made = subprocess.run(["cmake", "--build", BUILD, "--target", *sorted(targets)],
                          capture_output=True, text=True, check=False)
    return "" if made.returncode == 0 else made.stdout + made.stderr


def prepare(mutants: list[Mutant]) -> str:
    """Builds all detectors and checks that they pass without a mutant. Returns an error text."""
    copy_tree()
    subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", *OPTIONS], check=True,
                   stdout=subprocess.DEVNULL)
    detectors: set[Detector] = {mutant.detector for mutant in mutants}
    error = build({detector.target for detector in detectors})
    if error:
        return error
    for detector in sorted(detectors, key=lambda detector: detector.title):
        if failure := detector.run(BUILD / "bin" / detector.target):
            return f"{detector.title} fails without a mutant: {failure}"
    return ""


def try_mutant(mutant: Mutant) -> tuple[bool, str]:
    """Whether it was detected, and after how many steps, or the reason why not."""
    path = TREE / "src" / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        return False, f"the text to replace occurs {text.count(mutant.old)} times, not once"
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        error = build({mutant.detector.target})
        if error:
            return False, f"does not compile:\n{error}"
        result = mutant.detector.run(BUILD / "bin" / mutant.detector.target)
        return result is not None, result or "NOT CAUGHT"
    finally:
        path.write_text(text, encoding="utf-8")


def table_of(page: str) -> str:
    """The table between the two markers."""
    return page.partition(BEGIN)[2].partition(END)[0]


def write_table(results: dict[str, str]) -> None:
    """Writes the results of this run. Mutants that were not run keep their previous result."""
    page = PAGE.read_text(encoding="utf-8")
    known = {row[0]: row[3] for row in ROW.findall(table_of(page))} | results
    rows = "".join(f"| {m.rule} | `{m.file}` | {m.detector.title} | "
                   f"{known.get(m.rule, 'not run')} |\n" for m in MUTANTS)
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(before + BEGIN + HEAD + rows + END + rest.partition(END)[2], encoding="utf-8")


def check() -> list[str]:
    """Compares the mutants with the code and with the table, without running them."""
    wrong = []
    for mutant in MUTANTS:
        path = ROOT / "src" / mutant.file
        times = path.read_text(encoding="utf-8").count(mutant.old) if path.is_file() else 0
        if times != 1:
            wrong.append(f"{mutant.rule}: the text to replace occurs {times} times in {path}, "
                         "not once")
    rows = ROW.findall(table_of(PAGE.read_text(encoding="utf-8")))
    if [row[:3] for row in rows] != [(m.rule, m.file, m.detector.title) for m in MUTANTS]:
        wrong.append(f"the table in {PAGE} lists other mutants; run tools/mutants.py --write")
    wrong += [f"{row[0]}: {row[3]}" for row in rows if re.match("not run|NOT CAUGHT", row[3])]
    return wrong


def run_all(mutants: list[Mutant]) -> tuple[dict[str, str], list[str]]:
    """Results of the detected mutants, and the rules of the survivors."""
    results, survivors = {}, []
    for number, mutant in enumerate(mutants, 1):
        begin = time.monotonic()
        caught, how = try_mutant(mutant)
        print(f"{number:3}/{len(mutants)} {time.monotonic() - begin:4.0f} s  {mutant.rule}: "
              f"{mutant.detector.title}: {how}", flush=True)
        if caught:
            results[mutant.rule] = how
        else:
            survivors.append(mutant.rule)
    return results, survivors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN",
                        help="mutants whose rule, file or detector matches this regular expression")
    parser.add_argument("--write", action="store_true", help="write the results to docs/testing.md")
    parser.add_argument("--check", action="store_true",
                        help="run nothing; check that the mutants match the code and the table")
    options = parser.parse_args()
    if options.check:
        wrong = check()
        print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
        return 1 if wrong else 0
    mutants = [m for m in MUTANTS
               if re.search(options.only, f"{m.rule} {m.file} {m.detector.title}")]
    if error := prepare(mutants):
        print(error, file=sys.stderr)
        return 1
    results, survivors = run_all(mutants)
    if options.write:
        write_table(results)
    print(f"\n{len(survivors)} of {len(mutants)} not caught: {survivors}" if survivors
          else f"\nall {len(mutants)} caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
