#!/usr/bin/env python3
"""Breaks the memory core on purpose, one rule at a time, and sees that the model test notices.

Works on a copy of the tree in build/mutants/. Each mutant replaces one piece of text, rebuilds
bin/memory-model and runs it over a bounded number of steps. Fails when a mutant survives, and when
the text to replace is not found exactly once: a table of mutants must follow the code.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
TREE, BUILD = WORK / "tree", WORK / "build"
COPIED = ["CMakeLists.txt", "cmake", "include", "sim", "src", "tests"]

SEEDS, STEPS = 8, 25_000
REPEAT = re.compile(r"repeat with: .*--seed (\d+) --steps (\d+)")


class Mutant(NamedTuple):
    rule: str  # that is broken
    file: str  # below src/memory
    old: str
    new: str


MUTANTS = [
    Mutant("a: a key that is not valid is accepted", "entry_checks.h",
           "return entry != nullptr && entry->state == EntryState::kValid;",
           "return entry != nullptr && entry->is_live();"),
    Mutant("a: region behind a window not looked at", "translator.h",
           "if (!IsValid(grant.target)) return Denial::kRegionNotValid;", ""),
    Mutant("b: window used locally", "entry_checks.h",
           "entry.type == EntryType::kWindow ? origin == Origin::kRemote :",
           "entry.type == EntryType::kWindow ? origin != Origin::kTask :"),
    Mutant("b: region used remotely where that is off", "entry_checks.h",
           "(origin == Origin::kRemote && remote_through_regions)",
           "(origin == Origin::kRemote && (remote_through_regions || entry.length > 0))"),
    Mutant("c: any domain", "entry_checks.h",
           "if (entry.pd == who.pd) return true;",
           "if (entry.pd == who.pd || entry.is_live()) return true;"),
    Mutant("c: any queue pair", "entry_checks.h",
           "|| entry.window.qp == who.qp;", "|| entry.window.qp == who.qp || entry.is_live();"),
    Mutant("d: any instance", "entry_checks.h",
           "return entry.InstanceFor(origin) == key.instance();",
           "return entry.InstanceFor(origin) == key.instance() || entry.is_live();"),
    Mutant("e: one byte too many", "entry_checks.h",
           "address.value() - entry.start <= entry.length - length;",
           "address.value() - entry.start <= entry.length - length + 1;"),
    Mutant("e: the end wraps around 2^64", "entry_checks.h",
           "length <= entry.length &&\n"
           "         address.value() - entry.start <= entry.length - length;",
           "address.value() + length <= entry.start + entry.length;"),
    Mutant("f: any right", "entry_checks.h",
           "return entry.rights.Has(needed);",
           "return entry.rights.Has(needed) || entry.length > 0;"),
    Mutant("g: window on a region that allows none", "entry_checks.h",
           "if (access == Access::kBind) return entry.rights.Has(Rights::kWindowBind);",
           "if (access == Access::kBind) return true;"),
    Mutant("g: message against the task's command", "entry_checks.h",
           "return entry.task.command_reads == (access == Access::kTaskReceive);",
           "return entry.task.command_reads == (access == Access::kTaskReceive) || "
           "entry.length > 0;"),
    Mutant("a: guest that is gone not missed", "translator.h",
           "if (common_only || guests_.Find(grant.target->guest) == nullptr) "
           "return Denial::kGuestGone;",
           "if (common_only) return Denial::kGuestGone;"),
    Mutant("window's offset in its region ignored", "translator.h",
           "grant.offset += entry->window.offset;", ""),
    Mutant("window with wider rights than its region", "windows.cc",
           "if (!grant->target->rights.Has(needed)) return Fail(Denial::kRightsTooWide);", ""),
    Mutant("window that its owner may not touch", "windows.cc",
           "if (!OwnerMay(*grant->target, grant->offset, binding.length, needed)) {",
           "if (!OwnerMay(*grant->target, grant->offset, 0, needed)) {"),
    Mutant("old key good after a rebind", "windows.cc",
           "  slot = Rename(slot, binding.instance);\n", ""),
    Mutant("type 1 window bound again under its old key", "windows.cc",
           "  if (binding.instance == entry->remote_instance) return Fail(Denial::kSameInstance);\n"
           "  return entry;",
           "  return entry;"),
    Mutant("zero-based window starts at its address", "windows.cc",
           "entry.start = binding.zero_based ? 0 : binding.start.value();",
           "entry.start = binding.start.value();"),
    Mutant("one-touch key lives on", "one_touch_keys.cc",
           "case TouchAction::kInvalidateAndTerminate:\n"
           "      table_.MakeReserved(table_.SlotOf(key));",
           "case TouchAction::kInvalidateAndTerminate:"),
    Mutant("touch out of order not remembered", "one_touch_keys.cc",
           "remembered_[who.qp].push_back({key, segment.last_byte});",
           "remembered_.erase(who.qp);"),
    Mutant("touched key survives while swapped out", "one_touch_keys.cc",
           "if (entry == nullptr || !entry->touched ||",
           "if (entry == nullptr || entry->state != EntryState::kValid || !entry->touched ||"),
    Mutant("window sees the next life of its region", "regions.cc",
           "if (entry->state != EntryState::kReserved || table_.HasWindows(slot)) {",
           "if (entry->state != EntryState::kReserved) {"),
    Mutant("region goes while windows are bound to it", "regions.cc",
           "  if (table_.HasWindows(table_.SlotOf(key))) return Fail(MemoryError::kInUse);\n"
           "  if (entry.table != nullptr) store_.Release(entry.table);",
           "  if (entry.table != nullptr) store_.Release(entry.table);"),
    Mutant("invalidation misses all leaves but the first", "translation_store.cc",
           "    gone += InvalidateLeaf(*place.table,",
           "    if (place.number == 0) gone += InvalidateLeaf(*place.table,"),
    Mutant("reverse record of an unmapped page stays", "translation_store.cc",
           "    NotePage(table, page, table.Load(leaf, page), false);\n", ""),
    Mutant("key: an entry goes on when its lap is spent", "protection_table.cc",
           "if (keys_.IsSpent(slot)) {", "if (keys_.IsSpent(slot) && distinct_keys) {"),
    Mutant("reverse record of a mapped page missing", "translation_store.cc",
           "    NotePage(table, page, entry, true);\n", ""),
    Mutant("instance comes twice in a lap", "key_allocator.cc",
           "  ++life.instance;\n",
           "  life.instance = static_cast<uint8_t>((life.instance + 1) % 128);\n"),
    Mutant("spent key does not rest", "key_allocator.cc",
           "if (!IsSpent(slot)) {", "if (slot.value() < slot_count_) {"),
    Mutant("first-page offset ignored", "page_walker.cc",
           "const uint64_t position = target_.first_offset + offset;",
           "const uint64_t position = offset;"),
    Mutant("first-page offset ignored by the shortcut", "translator.h",
           "table->FindInOnePiece(grant.target->first_offset + grant.offset, length,",
           "table->FindInOnePiece(grant.offset, length,"),
    Mutant("second stage passed by", "page_walker.cc",
           "if (target_.guest != kHost) return AppendThroughGuest(",
           "if (target_.guest != kHost && length > UINT32_MAX) return AppendThroughGuest("),
    Mutant("second stage passed by in the shortcut", "translator.h",
           "if (common_only || guests_.Find(grant.target->guest) == nullptr)",
           "if (guests_.Find(grant.target->guest) == nullptr)"),
    Mutant("segment rights of the owner not asked", "page_walker.cc",
           "if (!place->rights.Has(needed)) {",
           "if (!place->rights.Has(needed) && length > UINT32_MAX) {"),
]


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


def build() -> str:
    """Builds the model. Returns what the compiler said when it failed."""
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DVERBENA_PARTS=tests"],
                       check=True, stdout=subprocess.DEVNULL)
    made = subprocess.run(["cmake", "--build", BUILD, "--target", "memory-model"],
                          capture_output=True, text=True, check=False)
    return "" if made.returncode == 0 else made.stdout + made.stderr


def run_model() -> str | None:
    """None when the model has nothing to say; otherwise after how many steps it had, or how else
    it ended."""
    command = [BUILD / "bin" / "memory-model", "--seeds", f"1..{SEEDS}", "--steps", str(STEPS)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    if ran.returncode == 0:
        return None
    where = REPEAT.search(ran.stderr)
    if not where:
        return "crashes"
    return f"{(int(where[1]) - 1) * STEPS + int(where[2]):,}"


def try_mutant(mutant: Mutant) -> tuple[bool, str]:
    """Whether it was caught, and how soon or why not."""
    path = TREE / "src" / "memory" / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        return False, f"the text to replace is there {text.count(mutant.old)} times"
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        complaint = build()
        if complaint:
            return False, f"does not compile:\n{complaint}"
        result = run_model()
        return result is not None, result or f"NOT CAUGHT in {SEEDS * STEPS:,}"
    finally:
        path.write_text(text, encoding="utf-8")


def print_row(markdown: bool, *cells: str) -> None:
    row = "| {} | `{}` | {} |" if markdown else "{:<48} {:<22} {}"
    print(row.format(*cells), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true", help="print the table for docs/")
    parser.add_argument("--only", default="", help="mutants whose rule contains this text")
    options = parser.parse_args()
    copy_tree()
    complaint = build()
    if complaint or run_model() is not None:
        print(complaint or "the model fails without any mutant", file=sys.stderr)
        return 1
    if options.markdown:
        print("| broken rule | file | steps until noticed |\n| --- | --- | ---: |")
    survivors = []
    for mutant in (m for m in MUTANTS if options.only in m.rule):
        caught, how = try_mutant(mutant)
        print_row(options.markdown, mutant.rule, mutant.file, how)
        if not caught:
            survivors.append(mutant.rule)
    print(f"\n{len(survivors)} of {len(MUTANTS)} not caught" if survivors else "\nall caught",
          file=sys.stderr)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
