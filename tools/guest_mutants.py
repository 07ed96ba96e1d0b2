"""Mutants of src/host and of what takes memory from guests: grants, quiesce, swap-out."""

from mutant import Detector, Mutant, Tests

ACCOUNT, REGIONS = "host/guest_account.cc", "host/region_states.cc"
SWAP_OUT, STORE = "paging/resident_set_swap_out.cc", "paging/resident_set_store.cc"


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
]
