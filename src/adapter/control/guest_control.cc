#include "adapter/control/guest_control.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "adapter/loop/engine.h"
#include "base/check.h"
#include "base/page.h"
#include "base/when_memory.h"
#include "odp/managed_pages.h"
#include "odp/takeover_memory.h"

namespace verbena::adapter {
namespace {

using memory::CurrentIo;

// How often a region without a word is looked at while it becomes quiet.
constexpr Duration kLookAgain = Milliseconds(1);

// The bytes of a region on managed memory, as offsets in its arena.
Interval BytesOf(const memory::MemoryCore& memory, Key key) {
  const auto found = memory.table.FindLive(key, memory::EntryType::kRegion);
  CHECK(found.has_value() && (*found)->table != nullptr);
  const memory::ProtectionEntry& entry = **found;
  const uint64_t first = entry.table->LinearAddress(0).value() + entry.first_offset;
  return {first, first + entry.length - 1};
}

// How many bytes are in each place.
void CountPlaces(const managed::Arena& arena, Interval bytes, GuestRegion& region) {
  const uint64_t granule = arena.granule().bytes();
  for (uint64_t at = bytes.first / granule * granule; at <= bytes.last; at += granule) {
    const uint64_t length = std::min(at + granule, bytes.last + 1) - std::max(at, bytes.first);
    const managed::Residency place = arena.residency(at);
    if (place == managed::Residency::kInMemory) region.resident += length;
    if (place == managed::Residency::kSwapped) region.swapped += length;
  }
}

// The granules that lie in it whole; nullopt if there is none.
std::optional<Interval> WholeGranules(Interval bytes, PageShift granule) {
  const uint64_t first = (bytes.first + granule.mask()) & ~granule.mask();
  const uint64_t end = (bytes.last + 1) & ~granule.mask();
  if (first >= end) return std::nullopt;
  return Interval{first, end - 1};
}

// Posted and not completed sends that name it. Those posted while this looks may be missed.
bool NamesRegion(queue::SendQueue& queue, Key region) {
  for (queue::WqeNumber n = queue.begin(); n < queue.end(); n = queue::Next(n)) {
    for (const Sge& sge : queue.SgesAt(n)) {
      if (sge.key.index() == region.index()) return true;
    }
  }
  return false;
}

Error NotThere(const char* why) { return {ErrorCode::kInvalid, why}; }

}  // namespace

GuestControl::GuestControl(const Parts& parts, EventFile events)
    : engine_(parts.engine),
      registering_(parts.registering),
      takeover_(parts.takeover),
      events_(std::move(events)) {
  engine_.paging.managed.set_quiesce_callbacks(
      {.on_awaited = [this](Key region) { OnAwaited(region); },
       .on_swapped_out = [this](uint64_t ticket, uint64_t bytes) { OnSwappedOut(ticket, bytes); }});
}

ErrorOr<void> GuestControl::SetMemoryBudget(uint64_t bytes) {
  const MutexLock lock(registering_);
  return takeover_.SetBudget(bytes);
}

uint64_t GuestControl::memory_budget() {
  const MutexLock lock(registering_);
  return takeover_.budget();
}

uint64_t GuestControl::resident_bytes() {
  const MutexLock lock(registering_);
  return takeover_.resident_bytes();
}

uint64_t GuestControl::managed_bytes() {
  const MutexLock lock(registering_);
  return takeover_.managed_bytes();
}

odp::TakeoverMemory::Use GuestControl::QueryUse() {
  const MutexLock lock(registering_);
  return takeover_.QueryUse();
}

std::vector<GuestControl::MemoryFile> GuestControl::MemoryFiles(const std::set<uint32_t>& known) {
  std::vector<MemoryFile> files;
  const MutexLock lock(registering_);
  takeover_.ForEachArena([&](const odp::ManagedArena& arena) {
    FileDescriptor file;
    if (!known.contains(arena.number)) {
      file = FileDescriptor(fcntl(arena.arena->memory_fd(), F_DUPFD_CLOEXEC, 0));
      // Without a descriptor it is left for the next time.
      if (!file.is_open()) return;
    }
    files.push_back({arena.number, arena.size, std::move(file)});
  });
  return files;
}

// Where the bytes are is counted without the engine's lock: there may be millions of granules. No
// arena ends while no thread registers.
std::vector<GuestRegion> GuestControl::Regions(bool with_places) {
  struct Place {
    const managed::Arena* arena;
    Interval bytes;
  };
  std::vector<GuestRegion> regions;
  std::vector<Place> places;
  const MutexLock registering(registering_);
  {
    const EngineLock lock(engine_);
    engine_.paging.managed.ForEachRegion([&](Key key, const odp::ManagedArena& arena) {
      engine_.AssertHeld();
      regions.push_back(Describe(key));
      places.push_back({arena.arena, BytesOf(engine_.memory, key)});
    });
  }
  for (size_t i = 0; i < regions.size(); ++i) {
    regions[i].bytes = places[i].bytes.last - places[i].bytes.first + 1;
    if (with_places) CountPlaces(*places[i].arena, places[i].bytes, regions[i]);
  }
  return regions;
}

// All but where its bytes are.
GuestRegion GuestControl::Describe(Key key) {
  engine_.AssertHeld();
  GuestRegion region{.id = key, .word = MemberOf(key).word};
  const auto quiesced = quiesced_.find(key);
  if (quiesced != quiesced_.end()) {
    region.state = quiesced->second.state;
    region.quiesced = quiesced->second.pages.last - quiesced->second.pages.first + 1;
  }
  const odp::QuiescedRegion* const out = engine_.paging.managed.FindQuiesced(key);
  const bool by_word = region.word && CurrentIo(words_.word(*region.word)).HasInterest();
  region.is_awaited = by_word || (out != nullptr && out->is_awaited);
  return region;
}

ErrorOr<QuiesceState> GuestControl::QuiesceRegion(Key region, std::optional<Range> part,
                                                  Duration patience) {
  const EngineLock lock(engine_);
  auto found = Find(region, part);
  if (!found) return Fail(found.error());
  Quiesced& quiesced = quiesced_.emplace(region, *found).first->second;
  if (const Member member = MemberOf(region); member.word) {
    static_cast<void>(CurrentIo(words_.word(*member.word)).Quiesce());
  }
  if (IsQuiet(region)) quiesced.state = QuiesceState::kQuiet;
  engine_.ReadClock();
  quiesced.overdue_at = engine_.now() + patience;
  return quiesced.state;
}

ErrorOr<GuestControl::Quiesced> GuestControl::Find(Key region,
                                                   const std::optional<Range>& part) const {
  engine_.AssertHeld();
  odp::ManagedArena* const arena = engine_.paging.managed.ArenaOf(region);
  if (arena == nullptr) return Fail(NotThere("no such region on managed memory"));
  if (quiesced_.contains(region)) {
    return Fail(Error{ErrorCode::kInUse, "the region is quiesced or out already"});
  }
  Interval bytes = BytesOf(engine_.memory, region);
  const uint64_t length = bytes.last - bytes.first + 1;
  if (part &&
      (part->length == 0 || part->offset >= length || part->length > length - part->offset)) {
    return Fail(NotThere("the part does not lie in the region"));
  }
  if (part) bytes = {bytes.first + part->offset, bytes.first + part->offset + part->length - 1};
  const auto pages = WholeGranules(bytes, arena->arena->granule());
  if (!pages) return Fail(NotThere("there is no whole page in it to swap out"));
  return Quiesced{.arena = arena, .pages = *pages, .is_whole = !part};
}

GuestControl::Member GuestControl::MemberOf(Key region) const {
  const auto found = members_.find(region);
  return found == members_.end() ? Member() : found->second;
}

// By the count of the program, if it counts: only it knows what its peers were asked to do.
// Otherwise by the work that it has posted (row D8).
bool GuestControl::IsQuiet(Key region) const {
  const Member member = MemberOf(region);
  if (!member.word) return !HasLocalWork(region);
  return CurrentIo(const_cast<CurrentIoWords&>(words_).word(*member.word)).IsIdle();
}

bool GuestControl::HasLocalWork(Key region) const {
  engine_.AssertHeld();
  bool has_work = false;
  engine_.qps.ForEach(
      [&](QueuePair& qp) { has_work = has_work || NamesRegion(qp.send_queue(), region); });
  return has_work;
}

ErrorOr<void> GuestControl::SwapOutRegion(Key region, bool by_force) {
  std::optional<uint32_t> resumed;
  {
    const EngineLock lock(engine_);
    const auto found = quiesced_.find(region);
    if (found == quiesced_.end() || found->second.state == QuiesceState::kOut) {
      return Fail(NotThere("the region is not quiesced"));
    }
    Quiesced& quiesced = found->second;
    const Member member = MemberOf(region);
    // A word may have changed since, if the program does not keep its promise.
    const bool is_quiet =
        quiesced.state == QuiesceState::kQuiet && (!member.word || IsQuiet(region));
    if (!is_quiet && !by_force) {
      return Fail(Error{ErrorCode::kInUse, "operations on the region are under way"});
    }
    if (auto taken = TakeMemory(region, quiesced); !taken) return taken;
    // The rest of the region is in use again: what is out faults, wherever it is accessed from.
    if (!quiesced.is_whole && !member.terms.refuses_when_out) resumed = member.word;
  }
  if (resumed) words_.Resume(*resumed);
  return {};
}

// The tables say no from here on; what the arena does later changes nothing for an access. Row E9.
ErrorOr<void> GuestControl::TakeMemory(Key region, Quiesced& quiesced) {
  engine_.AssertHeld();
  odp::ManagedPages& managed = engine_.paging.managed;
  const bool refuses = MemberOf(region).terms.refuses_when_out;
  const uint64_t base = quiesced.arena->adapter_base;
  const Interval pages{base + quiesced.pages.first, base + quiesced.pages.last};
  const uint64_t ticket = ++last_ticket_;
  managed.TakeAway(region, {.pages = pages, .is_whole = quiesced.is_whole, .refuses = refuses});
  const bool asked = WhenMemory([&] {
    quiesced.arena->arena->SwapOut(quiesced.pages.first,
                                   quiesced.pages.last - quiesced.pages.first + 1, ticket);
  });
  if (!asked) {
    managed.GiveBackTo(region);
    return Fail(Error{ErrorCode::kLimit, "no memory"});
  }
  if (quiesced.is_whole) {
    using WhenOut = memory::Regions::WhenOut;
    const auto out =
        engine_.memory.regions.SwapOut(region, refuses ? WhenOut::kRefuse : WhenOut::kWait);
    CHECK(out.has_value());
  }
  engine_.memory.InvalidateMachine(memory::MachineAddress(pages.first),
                                   memory::MachineAddress(pages.last));
  quiesced.state = QuiesceState::kOut;
  quiesced.ticket = ticket;
  return {};
}

ErrorOr<void> GuestControl::SwapInRegion(Key region, bool bring) {
  std::optional<uint32_t> word;
  {
    const EngineLock lock(engine_);
    if (!quiesced_.contains(region)) return Fail(NotThere("the region is not quiesced"));
    word = PutBack(region, bring);
  }
  if (word) words_.Resume(*word);
  return {};
}

// In the order of row D6: the tables are as they were, the valid bit, and then, without the lock,
// the caller ends quiesce of the word that this returns.
std::optional<uint32_t> GuestControl::PutBack(Key region, bool bring) {
  engine_.AssertHeld();
  const auto found = quiesced_.find(region);
  if (found == quiesced_.end()) return std::nullopt;
  const Quiesced quiesced = found->second;
  quiesced_.erase(found);
  if (quiesced.state == QuiesceState::kOut) {
    if (quiesced.is_whole) CHECK(engine_.memory.regions.SwapIn(region).has_value());
    BringBack(quiesced);
    engine_.paging.managed.GiveBackTo(region);
  }
  if (bring) engine_.paging.managed.Prefetch(region, *quiesced.arena, quiesced.pages);
  return MemberOf(region).word;
}

// Without memory to ask, nothing is read ahead there from now on.
void GuestControl::BringBack(const Quiesced& quiesced) {
  if (quiesced.state != QuiesceState::kOut) return;
  static_cast<void>(WhenMemory([&] { quiesced.arena->arena->SwapIn(quiesced.ticket); }));
}

GuestControl::EndedQuiesce GuestControl::EndQuiesce(Key region) {
  if (!quiesced_.contains(region)) return {};
  return {.was_quiesced = true, .word = PutBack(region, false)};
}

GuestControl::EndedQuiesce GuestControl::Forget(Key region) {
  engine_.AssertHeld();
  const auto quiesced = quiesced_.extract(region);
  if (!quiesced) return {};
  BringBack(quiesced.mapped());
  engine_.paging.managed.GiveBackTo(region);
  return {.was_quiesced = true, .word = MemberOf(region).word};
}

void GuestControl::Announce(Key region, const EndedQuiesce& ended) {
  if (!ended.was_quiesced) return;
  if (ended.word) words_.Resume(*ended.word);
  Raise({GuestEvent::Kind::kEnded, region});
}

void GuestControl::Update(Key region, Quiesced& quiesced, Time now) {
  if (quiesced.state != QuiesceState::kQuiescing) return;
  if (IsQuiet(region)) {
    quiesced.state = QuiesceState::kQuiet;
    Raise({GuestEvent::Kind::kQuiet, region});
  } else if (now >= quiesced.overdue_at) {
    quiesced.overdue_at = Time::Never();
    Raise({GuestEvent::Kind::kOverdue, region});
  }
}

std::vector<GuestEvent> GuestControl::TakeEvents(Time now) {
  {
    const EngineLock lock(engine_);
    for (auto& [region, quiesced] : quiesced_) Update(region, quiesced, now);
  }
  static_cast<void>(events_.TryWait());
  const MutexLock lock(events_mutex_);
  return std::exchange(raised_, {});
}

Time GuestControl::next_time() {
  const EngineLock lock(engine_);
  engine_.ReadClock();
  Time next = Time::Never();
  for (const auto& [region, quiesced] : quiesced_) {
    if (quiesced.state != QuiesceState::kQuiescing) continue;
    next = std::min(next, quiesced.overdue_at);
    if (!MemberOf(region).word) next = std::min(next, engine_.now() + kLookAgain);
  }
  return next;
}

void GuestControl::OnSwappedOut(uint64_t ticket, uint64_t bytes) {
  const EngineLock lock(engine_);
  for (const auto& [region, quiesced] : quiesced_) {
    if (quiesced.state != QuiesceState::kOut || quiesced.ticket != ticket) continue;
    return Raise({GuestEvent::Kind::kSwappedOut, region, bytes});
  }
}

// Without memory an event is lost. The state is to be had from Regions.
void GuestControl::Raise(const GuestEvent& event) {
  const MutexLock lock(events_mutex_);
  static_cast<void>(WhenMemory([&]() VERBENA_UNDER_CALLERS_LOCK { raised_.push_back(event); }));
  events_.Signal();
}

memory::CurrentIo::Word* GuestControl::FindWord(Key region) {
  const EngineLock lock(engine_);
  const auto word = MemberOf(region).word;
  return word ? &words_.word(*word) : nullptr;
}

// A call may be late, or a lie: the word says how it is.
void GuestControl::OnQuiesced(Key region) {
  const EngineLock lock(engine_);
  const auto found = quiesced_.find(region);
  if (found != quiesced_.end()) Update(region, found->second, Time());
}

bool GuestControl::WaitUntilResumed(Key region, Duration patience) {
  std::optional<uint32_t> word;
  {
    const EngineLock lock(engine_);
    word = MemberOf(region).word;
  }
  return !word || words_.Wait(*word, patience, [&] { OnAwaited(region); });
}

bool GuestControl::CallWhenResumed(Key region, std::function<void()> then) {
  std::optional<uint32_t> word;
  {
    const EngineLock lock(engine_);
    word = MemberOf(region).word;
  }
  return word && words_.CallWhenResumed(*word, std::move(then), [&] { OnAwaited(region); });
}

ErrorOr<std::optional<uint32_t>> GuestControl::TakeWord(const QuiesceTerms& terms) {
  if (!terms.has_word) return std::optional<uint32_t>();
  const auto taken = words_.Take();
  if (!taken) return Fail(taken.error());
  return std::optional(*taken);
}

void GuestControl::GiveWord(std::optional<uint32_t> word) {
  if (word) words_.Give(*word);
}

void GuestControl::Attach(Key region, const QuiesceTerms& terms, std::optional<uint32_t> word) {
  if (!terms.has_word && !terms.refuses_when_out) return;
  const EngineLock lock(engine_);
  members_.emplace(region, Member{terms, word});
}

void GuestControl::Rekey(Key from, Key to) {
  const EngineLock lock(engine_);
  auto member = members_.extract(from);
  if (!member) return;
  member.key() = to;
  members_.insert(std::move(member));
}

void GuestControl::Release(Key region) {
  std::optional<uint32_t> word;
  {
    const EngineLock lock(engine_);
    word = MemberOf(region).word;
    members_.erase(region);
  }
  GiveWord(word);
}

}  // namespace verbena::adapter
