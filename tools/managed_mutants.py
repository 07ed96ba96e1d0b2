"""Mutants of src/paging, src/managed and src/odp: managed memory under a budget."""

from mutant import Judge, Mutant, Simulator, Tests

PAGES, EXECUTOR = "odp/managed_pages.cc", "managed/executor.cc"
STORE, EVICT = "paging/resident_set_store.cc", "paging/resident_set_evict.cc"


def _mutant(rule: str, file: str, old: str, new: str, judge: Judge = Simulator()) -> Mutant:
    return Mutant(f"managed memory: {rule}", file, old, new, judge)


MUTANTS = [
    _mutant("the tables keep pages that leave", PAGES,
            "for (const std::span<std::byte> range : ranges) {",
            "for (const std::span<std::byte> range : ranges.first(0)) {"),
    _mutant("pages to be written are requested to be read", PAGES,
            "arena.arena->PageIn(offset, length, fault.for_write, ticket);",
            "arena.arena->PageIn(offset, length, false, ticket);"),
    _mutant("one page more than the budget", EVICT,
            "if (health_.is_well()) return shares_.budget;",
            "if (health_.is_well()) return shares_.budget + 1;"),
    _mutant("a write to the swap file counts that was overtaken", STORE,
            "is_good && !frame.is_rewritten && !frame.is_doomed;",
            "is_good && !frame.is_doomed;"),
    _mutant("a write to the swap file counts that has failed", STORE,
            "is_good && !frame.is_rewritten && !frame.is_doomed;",
            "!frame.is_rewritten && !frame.is_doomed;"),
    _mutant("the copy of discarded contents stays in the swap file", STORE,
            "        Forget(granule);\n        granules_.SetPlace(granule, Place::kZero);\n",
            "        granules_.SetPlace(granule, Place::kZero);\n"),
    _mutant("what comes from the swap file is not checked", "managed/swap_store.cc",
            "Crc32c(stored) == entry.checksum && Unpack(", "Unpack("),
    _mutant("a page that is discarded is still called swapped", EXECUTOR,
            "        if (residency(i) == Residency::kSwapped) Mark({i, 1}, Residency::kAbsent);\n",
            "", Tests("managed_test", "ExecutorTest.ASwappedGranuleThatIsDiscardedIsNowhere")),
]
