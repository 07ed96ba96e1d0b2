"""Mutants of src/host and of what takes memory from guests: grants, quiesce, swap-out."""

from mutant import Detector, Mutant, Simulator, Tests

ACCOUNT, REGIONS = "host/guest_account.cc", "host/region_states.cc"
SWAP_OUT, STORE = "paging/resident_set_swap_out.cc", "paging/resident_set_store.cc"
ARBITER, PAGES = "host/arbiter.cc", "odp/managed_pages.cc"
CONTROL = "adapter/control/guest_control.cc"
SIMULATED = Simulator(options=("--guests",))


def _host(test: str) -> Tests:
    return Tests("host_test", test)


def _paging(test: str) -> Tests:
    return Tests("paging_test", f"ResidentSetSwapOutTest.{test}")


def _mutant(rule: str, file: str, old: str, new: str, detector: Detector) -> Mutant:
    return Mutant(f"guests: {rule}", file, old, new, detector)


MUTANTS = [
    _mutant("what a guest has yet to give up is granted to another", ACCOUNT,
            "return std::max({bound_, grant_, resident_});", "return grant_;",
            _host("ArbiterModel.TheBudgetHoldsWhateverGuestsDo")),
    _mutant("the kernel's count of a guest's memory is not asked", ACCOUNT,
            "return std::max({bound_, grant_, resident_});", "return std::max(bound_, grant_);",
            _host("GuestAccount.TheKernelsWordCountsBesideTheGuests")),
    _mutant("an acknowledgement in advance counts", ACCOUNT,
            "std::min(sequence, sequence_));", "sequence);",
            _host("GuestAccount.AnAcknowledgementInAdvanceDoesNotCount")),
    _mutant("a punched guest that takes the memory again is pardoned", ACCOUNT,
            "if (acknowledged_ < lowered_ || resident_ > grant_) return;",
            "if (resident_ > grant_) return;",
            _host("GuestAccount.AGuestThatIsLateIsARogueUntilItComplies")),
    _mutant("what is scarce is divided without weights", "host/fair_share.cc",
            "std::min(1.0, claim.weight / weights);",
            "std::min(1.0, 1.0 / static_cast<double>(claims.size()));",
            _host("FairShare.WeightsDivideWhatIsScarce")),
    _mutant("interest in a region that is on its way out is lost", REGIONS,
            "return found->has_interest && !found->is_held ? Resume(region) : Request::kNone;",
            "return Request::kNone;", _host("RegionStatesTest.InterestBeforeItIsOutCounts")),
    _mutant("interest brings a region back that the operator holds", REGIONS,
            "found->phase == RegionPhase::kOut && !found->is_held;",
            "found->phase == RegionPhase::kOut;",
            _host("RegionStatesTest.TheOperatorHoldsARegionAgainstInterest")),
    _mutant("a guest does not call again when the broker dies while it attaches", "host/agent.cc",
            "  if (now >= attach_until_) SetFirst(Fail(std::move(why)));",
            "  SetFirst(Fail(std::move(why)));",
            _host("BrokerThreads.AGuestWhoseBrokerDiesWhileItAttachesCallsTheNext")),
    _mutant("a guest calls a dead broker for ever", "host/agent.cc",
            "  if (now >= attach_until_) SetFirst(Fail(std::move(why)));\n", "",
            _host("BrokerThreads.AGuestDoesNotWaitForADeadBrokerForEver")),
    _mutant("pages are read ahead into a region that is out", STORE,
            "         !IsSwappedOut(last)) {", "         true) {",
            _paging("NothingIsReadAheadThereUntilItIsBack")),
    _mutant("what an earlier request brings back stays in memory", SWAP_OUT,
            "  swap_out.started = swap_out.left = swap_out.run.first;\n", "",
            _paging("WhatAnAdaptersRequestInLineBringsBackLeavesAgain")),
    _mutant("a region that is given back goes on leaving", SWAP_OUT,
            "    if (!swap_out.has_ended) End(swap_out);\n    return true;\n",
            "    return swap_out.has_ended;\n", _paging("SwapInEndsWhatHasNotLeft")),
    _mutant("a grant is raised to a page more than is free", ARBITER,
            "return options_.budget - std::min(committed_, options_.budget);",
            "return options_.budget + kPage - std::min(committed_, options_.budget);", SIMULATED),
    _mutant("a guest that has crashed keeps its memory", ARBITER,
            "  committed_ -= gone.account.committed();\n", "", SIMULATED),
    _mutant("what was out before the broker began is taken for in use", REGIONS,
            "  SetPhase(place->second, RegionPhase::kOut);\n  return true;", "  return true;",
            SIMULATED),
    _mutant("interest in a region that is out is lost", REGIONS,
            "  const bool is_due = found->phase == RegionPhase::kOut && !found->is_held;\n"
            "  return is_due ? Resume(region) : Request::kNone;",
            "  return Request::kNone;", SIMULATED),
    _mutant("the host does not hear that work waits for a region", PAGES,
            "  if (!std::exchange(region->is_awaited, true)) quiesce_callbacks_.on_awaited(key);\n",
            "", SIMULATED),
    _mutant("the last page of a region that is taken stays in use", CONTROL,
            "base + quiesced.pages.last};\n", "base + quiesced.pages.last - 4'096};\n", SIMULATED),
    _mutant("a region that is back stays invalid", CONTROL,
            "if (quiesced.is_whole) CHECK(engine_.memory.regions.SwapIn(region).has_value());", "",
            SIMULATED),
    _mutant("what waits for a region is lost when it is back", CONTROL,
            "    BringBack(quiesced);\n    engine_.paging.managed.GiveBackTo(region);\n",
            "    BringBack(quiesced);\n", SIMULATED),
    _mutant("pages that come when the region has been taken enter the tables", PAGES,
            "  const bool has_room = WhenMemory([&] { is_parked = IsParked(pending); });\n"
            "  if (is_parked) return;\n  // Pages",
            "  const bool has_room = true;\n  if (is_parked) return;\n  // Pages", SIMULATED),
    _mutant("the last page of what leaves stays in the second stage", PAGES,
            "memory::MachineAddress(first + range.size() - 1));",
            "memory::MachineAddress(first + range.size() - 4'097));", SIMULATED),
    _mutant("what is written again while it is stored counts as clean", STORE,
            "const bool is_current = is_good && !frame.is_rewritten && !frame.is_doomed;",
            "const bool is_current = is_good && !frame.is_doomed;", SIMULATED),
    _mutant("a page that is needed while it is stored leaves", "paging/resident_set.cc",
            "    SetLeaving(frame, false);\n", "", SIMULATED),
    _mutant("memory is used again before it is zeroed", "managed/memory_file.cc",
            "  // Pages that are not new have old contents.\n"
            "  std::memset(contents.data(), 0, contents.size());\n", "", SIMULATED),
]
