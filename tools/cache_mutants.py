"""Mutants of src/cache, and of the events that it hears."""

from mutant import Detector, Mutant, Tests, Torture

EVENTS, GATE, HIT = "base/page_events.cc", "cache/gate.h", "cache/hit.h"
CORE, ACQUIRE, COLLECT = "cache/core.h", "cache/core_acquire.cc", "cache/core_collect.cc"

_REPORTED = "message.event == UFFD_EVENT_REMOVE || message.event == UFFD_EVENT_UNMAP"
_MOVED = "} else if (is_read && message.event == UFFD_EVENT_REMAP) {"
_NEVER = "} else if (is_read && message.event == 0) {"
_OVERLAP = ("if (StateOf(number) != RegistrationState::kLive || "
            "At(number).access.HasAny(kExactRights))")


def _orders(name: str) -> Tests:
    """Threads in every order."""
    return Tests("cache_interleavings_test", f"CacheInterleavings.{name}")


def _test(name: str) -> Tests:
    return Tests("cache_test", name)


def _mutant(rule: str, file: str, old: str, new: str, detector: Detector) -> Mutant:
    return Mutant(f"cache: {rule}", file, old, new, detector)


MUTANTS = [
    # What the kernel reports.
    _mutant("munmap is not heard of", EVENTS, _REPORTED, "message.event == UFFD_EVENT_REMOVE",
            _test("CacheEventsThreads.Munmap")),
    _mutant("madvise is not heard of", EVENTS, _REPORTED, "message.event == UFFD_EVENT_UNMAP",
            _test("CacheEventsThreads.MadviseDontneed")),
    _mutant("mremap is not heard of", EVENTS, _MOVED, _NEVER,
            _test("CacheEventsThreads.MremapThatLeavesTheMapping")),
    _mutant("munmap is not heard of, under torture", EVENTS, _REPORTED,
            "message.event == UFFD_EVENT_REMOVE", Torture()),
    _mutant("madvise is not heard of, under torture", EVENTS, _REPORTED,
            "message.event == UFFD_EVENT_UNMAP", Torture()),
    _mutant("mremap is not heard of, under torture", EVENTS, _MOVED, _NEVER, Torture()),
    _mutant("a munmap that is not read yet counts as none", CORE, "if (IsPending()) [[unlikely]] {",
            "if (false) {", _orders("NoHitAfterAMunmapIsStale")),
    _mutant("a registration that is not certain finds an older one", ACQUIRE,
            "!options_.release_immediately && plan.is_reported &&",
            "!options_.release_immediately &&",
            _test("RegistrationCacheTest.WhatMayHaveChangedIsRegisteredAnewAndNotKept")),
    _mutant("shared memory is kept", EVENTS,
            "if (mappings_ && !mappings_->IsPrivate(address, length)) {", "if (false) {",
            _test("CacheEventsThreads.SharedMemoryIsNotKept")),
    # The gate.
    _mutant("the gate opens before the entries are taken out", GATE,
            "      fn(*range);\n      word_->fetch_sub(1, std::memory_order_seq_cst);\n",
            "      word_->fetch_sub(1, std::memory_order_seq_cst);\n      fn(*range);\n",
            _orders("NothingFromBeforeAnAnnouncementIsFound")),
    _mutant("the gate stays open while an event is read", GATE,
            "  void OnReading() override { word_->fetch_add(1, std::memory_order_seq_cst); }\n"
            "  void OnRead() override { word_->fetch_sub(1, std::memory_order_seq_cst); }\n",
            "  void OnReading() override {}\n  void OnRead() override {}\n",
            _orders("NoHitAfterAMunmapIsStale")),
    _mutant("what has no room in the ring is forgotten", GATE,
            "    if (has_overflown_.exchange(true)) "
            "word_->fetch_sub(1, std::memory_order_seq_cst);\n",
            "    word_->fetch_sub(1, std::memory_order_seq_cst);\n",
            _test("RegistrationCacheTest.WithoutRoomForAnnouncementsNothingIsTrusted")),
    _mutant("a child of a fork has the parent's cache", GATE,
            "wipes_ = madvise(page, kPageBytes, MADV_WIPEONFORK) == 0;", "wipes_ = true;",
            _test("RegistrationCacheTest.AChildOfAForkUsesNothing")),
    # Hits and what ends entries.
    _mutant("the reference is taken after the state is read", HIT,
            "  if (!tables.references.Add(at.number, at.shard)) return false;\n"
            "  const bool is_live = entry.state.load(std::memory_order_seq_cst) == "
            "RegistrationState::kLive;\n",
            "  const bool is_live = entry.state.load(std::memory_order_seq_cst) == "
            "RegistrationState::kLive;\n"
            "  if (!tables.references.Add(at.number, at.shard)) return false;\n",
            _orders("AHitHoldsAgainstTheCollector")),
    _mutant("a reference that is taken back leaves the end to none", HIT,
            "  on_missed(at.number);\n", "", _orders("AHitHoldsAgainstTheCollector")),
    _mutant("what is in use is deregistered", COLLECT,
            "if (!is_held && tables_.references.IsFree(number)) {", "if (!is_held) {",
            _orders("AHitHoldsAgainstTheCollector")),
    _mutant("the references are looked at before the state is changed", COLLECT,
            "  SetState(number, RegistrationState::kDetached);\n"
            "  if (!is_held && tables_.references.IsFree(number)) {\n",
            "  const bool is_free = tables_.references.IsFree(number);\n"
            "  SetState(number, RegistrationState::kDetached);\n"
            "  if (!is_held && is_free) {\n",
            _orders("AHitThatIsUnderWayHoldsAgainstTheCollector")),
    _mutant("what is in use is changed in place", ACQUIRE,
            "  if (tables_.references.IsFree(number)) return true;\n", "  return true;\n",
            _orders("AHitKeepsItsRightsWhileAnotherWantsMore")),
    _mutant("what is in use is evicted", COLLECT,
            "    if (!tables_.references.IsFree(number)) return "
            "RegistrationEviction::Use::kHeld;\n", "",
            _test("RegistrationCacheTest.TheNumberOfEntriesIsLimited")),
    _mutant("what is in use grows old", COLLECT,
            "if (uses != entry.uses_aged || !tables_.references.IsFree(number)) {",
            "if (uses != entry.uses_aged) {",
            _test("RegistrationCacheTest.WhatIsOldAndNotInUseIsCollected")),
    # Rights and keys.
    _mutant("a merge takes over remote rights", ACQUIRE, _OVERLAP,
            "if (StateOf(number) != RegistrationState::kLive)",
            _test("RegistrationCacheTest.LocalRequestsDoNotMergeWithRemoteOnes")),
    _mutant("a local request is served by a key for peers", "cache/entry.h",
            "    return !access.HasAny(kExactRights) && access.Has(request.access) &&\n",
            "    return access.Has(request.access) &&\n",
            _test("CacheModel.AgreesWithANaiveCache")),
    _mutant("a released R_Key stays", CORE,
            "(request.is_exact() && options_.released_remote_key == ReleasedRemoteKey::kRefused);",
            "false;", _test("RegistrationCacheTest.AReleasedRemoteKeyIsRefused")),
    _mutant("a released R_Key is left to another thread", COLLECT,
            "if (At(number).has_one_handle ? !is_only_handle : "
            "!tables_.references.IsFree(number)) return;",
            "if (!tables_.references.IsFree(number)) return;",
            _orders("AReaderWithAnOldHintPutsOffNoRelease")),
    _mutant("a late release ends what has the number now", CORE,
            "const bool is_only_handle = !is_live && entry.has_one_handle;",
            "const bool is_only_handle = true;",
            _orders("AReaderWithAnOldHintPutsOffNoRelease")),
    _mutant("what is parked waits for a handle", COLLECT,
            "      entry.has_one_handle = false;\n", "",
            _orders("AReaderWithAnOldHintPutsOffNoRelease")),
]
