"""Mutants of src/paging, src/managed and src/odp: managed memory under a budget."""

from mutant import Detector, Mutant, Simulator, Tests

PAGES, EXECUTOR = "odp/managed_pages.cc", "managed/executor.cc"
STORE, EVICT = "paging/resident_set_store.cc", "paging/resident_set_evict.cc"


def _mutant(rule: str, file: str, old: str, new: str, detector: Detector = Simulator()) -> Mutant:
    return Mutant(f"managed memory: {rule}", file, old, new, detector)


MUTANTS = [
    _mutant("the translation tables keep evicted pages", PAGES,
            "for (const std::span<std::byte> range : ranges) {",
            "for (const std::span<std::byte> range : ranges.first(0)) {"),
    _mutant("a write fault is requested as a read fault", PAGES,
            "arena.arena->PageIn(offset, length, fault.for_write, ticket);",
            "arena.arena->PageIn(offset, length, false, ticket);"),
    _mutant("the budget is exceeded by one page", EVICT,
            "if (health_.is_well()) return shares_.budget;",
            "if (health_.is_well()) return shares_.budget + 1;"),
    _mutant("a superseded write to the swap file counts", STORE,
            "is_good && !frame.is_rewritten && !frame.is_doomed;",
            "is_good && !frame.is_doomed;"),
    _mutant("a failed write to the swap file counts", STORE,
            "is_good && !frame.is_rewritten && !frame.is_doomed;",
            "!frame.is_rewritten && !frame.is_doomed;"),
    _mutant("the copy of discarded contents stays in the swap file", STORE,
            "        Forget(granule);\n        granules_.SetPlace(granule, Place::kZero);\n",
            "        granules_.SetPlace(granule, Place::kZero);\n"),
    _mutant("the checksum of swapped-in data is not checked", "managed/swap_store.cc",
            "Crc32c(stored) == entry.checksum && Unpack(", "Unpack("),
    _mutant("a discarded page still counts as swapped", EXECUTOR,
            "        if (residency(i) == Residency::kSwapped) Mark({i, 1}, Residency::kAbsent);\n",
            "", Tests("managed_test", "ExecutorTest.DiscardingASwappedGranuleFreesItsCopy")),
    _mutant("an arena gets more of a budget than it can use", "odp/budget_division.h",
            ": least(std::min(minimum, size)), most(size) {}",
            ": least(minimum), most(size) {}",
            Tests("odp_test", "BudgetDivisionTest.ABudgetForAllGivesEachItsSize:"
                  "BudgetDivisionTest.AnArenaBelowItsMinimumLeavesTheRestToTheOthers")),
    _mutant("a page that is noted during a probe of its block is not probed again",
            "odp/residency_scan.cc",
            "present.none() && known->second == pages;", "present.none();",
            Tests("odp_test", "ResidencyScanTest.PagesThatAreNotedDuringAProbeAreProbedNextTime")),
]
