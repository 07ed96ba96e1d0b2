"""Mutants of src/cache, of the events that it hears, and of the list of shared buffers."""

from mutant import Detector, Mutant, Simulator, Tests, Torture

EVENTS, GATE, HIT = "base/page_events.cc", "cache/gate.h", "cache/hit.h"
CORE, ACQUIRE, COLLECT = "cache/core.h", "cache/core_acquire.cc", "cache/core_collect.cc"
DIRECTORY, SERVICE = "host/buffer_directory.cc", "host/buffer_service.cc"
CLIENT, PEER = "host/buffer_client.cc", "cache/peer_buffers.cc"

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


def _host(name: str) -> Tests:
    return Tests("host_test", name)


def _simulator() -> Simulator:
    """Programs that register through the cache, over simulated adapters."""
    return Simulator(options=("--cache",))


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
    # The same, and what only data shows: bytes of the wrong frame, over simulated adapters.
    _mutant("a munmap that is not read yet counts as none, over adapters", CORE,
            "if (IsPending()) [[unlikely]] {", "if (false) {", _simulator()),
    _mutant("what was given up while it was registered is kept", ACQUIRE,
            "const bool stays = is_kept && !entry.is_given_up && tables_.gate.is_open()",
            "const bool stays = is_kept && tables_.gate.is_open()", _simulator()),
    _mutant("what was given up ends while it is in use", COLLECT,
            "if (!is_held && tables_.references.IsFree(number)) {", "if (!is_held) {",
            _simulator()),
    _mutant("a given up R_Key stays parked", COLLECT,
            "if (changed && !entry.is_given_up && !is_shut_ && tables_.gate.is_open()) {",
            "if (changed && !is_shut_ && tables_.gate.is_open()) {",
            _orders("NoParkedEntryIsStale")),
    # Shared buffers.
    _mutant("two processes publish the same bytes", DIRECTORY,
            "if (other.entry.owner != client.process && other.bytes().Overlaps(bytes)) {",
            "if (other.entry.owner != client.process && other.bytes().last < bytes.first) {",
            _host("BufferDirectoryTest.ABufferHasOneOwner")),
    _mutant("a name of another user is found", DIRECTORY,
            "  if (uid != 0 && uid != buffer.entry.owner.uid && !is_for_all) return no_such();\n",
            "  static_cast<void>(is_for_all);\n  static_cast<void>(uid);\n",
            _host("BufferDirectoryTest.ANameIsFoundByItsUserOnly")),
    _mutant("names of other users are listed", DIRECTORY,
            "const bool is_seen = reader.sees_all || entry.owner.uid == reader.process.uid ||",
            "const bool is_seen = true || reader.sees_all ||",
            _host("BufferDirectoryTest.ANameIsFoundByItsUserOnly")),
    _mutant("an R_Key gives more than the descriptor", DIRECTORY,
            "if (rights.Has(access) && file.Allows(rights)) return Use(client, buffer);",
            "if (rights.Has(access)) return Use(client, buffer);",
            _host("BufferDirectoryTest.AKeyGivesNoMoreThanTheDescriptor")),
    _mutant("another process withdraws a buffer", DIRECTORY,
            "if (!clients_.at(client).published.contains(number)) return false;",
            "if (!clients_.contains(client) || !buffers_.contains(number)) return false;",
            _host("LyingClientThreads.ANumberOfAnotherConnectionEndsTheConnection")),
    _mutant("the end of a buffer is not reported", DIRECTORY,
            "    ended_.push_back({user, number});\n", "",
            _host("BufferDirectoryTest.WhatIsWithdrawnEndsForThoseThatFoundIt")),
    _mutant("buffers of a process that is gone stay", SERVICE,
            "  directory_.RemoveClient(client);\n", "",
            _host("BufferServiceTest.AnOwnerThatIsGoneIsReportedToThoseThatFound")),
    _mutant("an owner lasts as long as its socket", "host/broker_buffers.cc",
            "!Watch(process, Source::kBufferProcess, id, EPOLLIN)", "process < 0",
            _host("BufferClientThreads.AnOwnerEndsThoughItsChildHasTheSocket")),
    _mutant("what was found outlives the broker", CLIENT,
            "  for (auto& [number, found] : found_) found.has_ended->store(true, "
            "std::memory_order_release);\n", "",
            _host("BufferClientThreads.TheNextBrokerHasWhatWasPublished")),
    _mutant("the next broker does not hear of what was published", CLIENT,
            "  channel_ = std::move(*channel);\n  PublishAgain();\n",
            "  channel_ = std::move(*channel);\n",
            _host("BufferClientThreads.TheNextBrokerHasWhatWasPublished")),
    _mutant("files of a process are not bounded", SERVICE,
            "return static_cast<size_t>(count) < options_.client_files_max;",
            "return static_cast<size_t>(count) <= ~size_t{0} - 1;",
            _host("LyingClientThreads.FilesAreBounded")),
    # The list of a client at its server.
    _mutant("a buffer at the server gives rights that it lacks", PEER,
            "if (covers && notice.access.Has(access))",
            "if (covers && (covers || notice.access.Has(access)))",
            _test("PeerBuffersTest.TheSameBytesCanBeThereWithDifferentRights")),
    _mutant("a client fills its server", PEER,
            "if (notices_.size() >= buffers_max_) {", "if (false) {",
            _test("PeerBuffersTest.AClientCannotFillTheServer")),
    _mutant("the server does not hear of the end of a key", "cache/announcing_backend.cc",
            "    announce({.kind = BufferNotice::Kind::kEnded, .number = *record.number});\n", "",
            _test("AnnouncedCacheTest.AReleasedKeyIsNotAtTheServer")),
]
