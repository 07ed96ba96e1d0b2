#include "odp/managed_pages.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/check.h"
#include "base/clock.h"
#include "base/when_memory.h"
#include "managed/takeover.h"
#include "odp/page_jobs.h"

namespace verbena::odp {
namespace {

// One request takes at most this part of the budget, so that a few queue pairs at once do not evict
// each other's pages.
constexpr uint64_t kShareOfBudget = 8;

uint64_t AddressOf(const std::byte* byte) { return reinterpret_cast<uintptr_t>(byte); }

bool Overlaps(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size) {
  return a < b + b_size && b < a + a_size;
}

Error PartlyManaged(const ManagedArena& arena) {
  if (arena.takeover == nullptr) {
    return {ErrorCode::kInvalid, "only a part of the bytes is managed memory"};
  }
  return {ErrorCode::kLimit,
          "only a part of the bytes is under the memory budget, because an earlier region has "
          "those: register the larger range first, or do without a memory budget"};
}

// How many of `length` bytes from `address` on, in the adapter's view, the program still has
// mapped.
uint64_t LengthLeft(const ManagedArena& arena, uint64_t address, uint64_t length) {
  if (arena.all_is_gone) return 0;
  for (const Interval& gone : arena.gone) {
    if (gone.Contains(address)) return 0;
    if (gone.first > address) length = std::min(length, gone.first - address);
  }
  return length;
}

// If the whole arena fits its budget, no access waits for an eviction.
bool FitsBudget(const ManagedArena& arena) {
  return arena.arena->report().budget_bytes >= arena.size;
}

// A swap file that fails and recovers again and again must not fill memory, or a screen, with
// warnings.
constexpr size_t kWarningsMax = 100;

const char* WarningOf(paging::StoreReport report) {
  switch (report) {
    case paging::StoreReport::kFull:
      return "the swap file of managed memory cannot grow: what does not fit stays in memory, and "
             "accesses that need more wait, those of the program for 30 s, which then gets "
             "SIGSEGV; make room on its disk, or raise swap_bytes_max if it "
             "was set";
    case paging::StoreReport::kFailing:
      return "the swap file of managed memory cannot be written: what was to leave stays in "
             "memory, and accesses that need more wait, those of the program for 30 s, which then "
             "gets SIGSEGV; see the system's log for its disk";
    case paging::StoreReport::kWell:
      return "the swap file of managed memory can be written again";
  }
  CHECK(false);
}

}  // namespace

// A thread of the program that waits for pages.
struct PageWaiter {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<PageJob> job;
};

ManagedArena::ManagedArena() = default;
ManagedArena::~ManagedArena() = default;

ManagedPages::~ManagedPages() { CHECK(arenas_.empty()); }

ErrorOr<ManagedPages::Place> ManagedPages::Find(uint64_t address, uint64_t length) const {
  for (const auto& arena : arenas_) {
    if (!Overlaps(address, length, arena->cpu_base, arena->size)) continue;
    const uint64_t offset = address - arena->cpu_base;
    if (address < arena->cpu_base || length > arena->size - offset) {
      return Fail(PartlyManaged(*arena));
    }
    return Place{memory::PhysicalAddress(offset), arena->guest, arena.get()};
  }
  return Place{memory::PhysicalAddress(address), memory::kHost, nullptr};
}

ManagedArena* ManagedPages::FindArena(uint64_t address) const {
  for (const auto& arena : arenas_) {
    if (address - arena->adapter_base < arena->size) return arena.get();
  }
  return nullptr;
}

// Finds the arena by the number that the second stage has for it: arenas_ is in the order of the
// numbers.
ManagedArena* ManagedPages::ArenaOf(memory::GuestKey guest) const {
  tables_.AssertHeld();
  const memory::GuestTable::Guest* const found = tables_.memory.guests.Find(guest);
  if (found == nullptr) return nullptr;
  const auto number = [](const auto& arena) { return arena->number; };
  const auto place = std::ranges::lower_bound(arenas_, found->attributes, {}, number);
  return place != arenas_.end() && (*place)->guest == guest ? place->get() : nullptr;
}

bool ManagedPages::IsProgramView(const PageJob& job) const {
  const uint64_t length = job.page_count * job.request.fault.page_shift.bytes();
  return std::ranges::any_of(arenas_, [&](const auto& arena) {
    return Overlaps(job.address, length, arena->cpu_base, arena->size);
  });
}

void ManagedPages::RefuseProgramView(PageJob& job) const {
  if (IsProgramView(job)) job.page_count = 0;
}

ManagedPages::RegionRoom ManagedPages::MakeRoomForRegion() {
  if (regions_.size() + 1 > regions_.bucket_count()) regions_.reserve(2 * regions_.size() + 1);
  decltype(regions_) one;
  one.emplace(Key(), nullptr);
  return one.extract(one.begin());
}

void ManagedPages::Attach(RegionRoom room, Key region, ManagedArena& arena) {
  room.key() = region;
  room.mapped() = &arena;
  const bool is_new = regions_.insert(std::move(room)).inserted;
  CHECK(is_new);
  ++arena.regions;
}

ManagedArena* ManagedPages::ArenaOf(Key region) const {
  const auto found = regions_.find(region);
  return found == regions_.end() ? nullptr : found->second;
}

void ManagedPages::Release(Key region) {
  const auto found = regions_.find(region);
  if (found == regions_.end()) return;
  --found->second->regions;
  regions_.erase(found);
}

void ManagedPages::Rekey(Key from, Key to) {
  auto region = regions_.extract(from);
  if (!region) return;
  region.key() = to;
  regions_.insert(std::move(region));
}

ManagedPages::Asked ManagedPages::Ask(const PageJob& job, PageWaiter* waiter) {
  if (job.page_count == 0) return Asked::kNotManaged;
  ManagedArena* const arena = ArenaOf(job.request.fault.guest);
  if (arena == nullptr) return Asked::kNotManaged;
  if (waiter == nullptr && !answers_.Expect()) return Asked::kNoMemory;
  const Pending pending{job, waiter, arena};
  bool is_parked = false;
  const bool has_room = WhenMemory([&] { is_parked = IsParked(pending); });
  if (is_parked) return Asked::kAsked;
  const Asked asked = has_room ? Serve(pending, *arena) : Asked::kNoMemory;
  if (asked == Asked::kNoMemory && waiter == nullptr) answers_.Unexpect();
  return asked;
}

// The engine fills the guest's stage, and the arena then the host's.
ManagedPages::Asked ManagedPages::Serve(Pending pending, ManagedArena& arena) {
  bool is_served = false;
  const bool has_room = WhenMemory([&] { is_served = IsServedByTables(pending); });
  if (is_served) return Asked::kAsked;
  return has_room ? AskArena(pending, arena) : Asked::kNoMemory;
}

// Enters the pages into the first stage. True if nothing else was missing, or if the pages do not
// exist: then the job is answered. For a prefetch, skips the pages that the second stage has.
bool ManagedPages::IsServedByTables(Pending& pending) {
  tables_.AssertHeld();
  PageJob& job = pending.job;
  if (!tables_.memory.table.FindLive(job.request.fault.region, memory::EntryType::kRegion)) {
    Finish(pending);
    return true;
  }
  if (job.request.fault.stage == memory::Stage::kFirst) {
    if (!job.is_ahead) ++stage_faults_.first;
    const uint64_t bytes = job.page_count * job.request.fault.page_shift.bytes();
    const bool is_whole = pending.arena->gone.empty() && !pending.arena->all_is_gone;
    const bool is_there = LengthLeft(*pending.arena, job.address, bytes) > 0;
    if (!is_there || !EnterFirstStage(tables_.memory, job, is_whole)) {
      Finish(pending);
      return true;
    }
  }
  const uint64_t present = CountInSecondStage(tables_.memory, job);
  if (job.is_ahead) {
    job = RestAfter(job, present);
    if (job.page_count > 0) return false;
  } else {
    if (present == 0) return false;
    if (job.request.fault.stage == memory::Stage::kFirst) ++stage_faults_.present;
    job.paged_in = present;
    job.is_mapped = true;
  }
  Finish(pending);
  return true;
}

// Whether the first page of the job is quiesced: then the job waits until the quiesce ends, or is
// answered at once.
bool ManagedPages::IsParked(const Pending& pending) {
  if (quiesced_.empty()) return false;
  const auto [key, region] = quiesced_.Find(pending.job);
  if (region == nullptr) return false;
  // A prefetch is no reason to end the quiesce.
  if (pending.job.is_ahead || region->refuses) {
    Finish(pending);
    return true;
  }
  region->parked.push_back({pending.job, pending.waiter});
  if (!std::exchange(region->is_awaited, true)) quiesce_callbacks_.on_awaited(key);
  return true;
}

void ManagedPages::GiveBackTo(Key region) {
  for (const ParkedJob& parked : quiesced_.Remove(region)) {
    ManagedArena* const arena = FindArena(parked.job.address);
    const Pending pending{parked.job, parked.waiter, arena};
    // another region on these bytes is quiesced
    if (arena != nullptr && IsParked(pending)) continue;
    if (arena == nullptr || Serve(pending, *arena) == Asked::kNoMemory) Finish(pending);
  }
}

void ManagedPages::Prefetch(Key region, const ManagedArena& arena, Interval pages) {
  tables_.AssertHeld();
  const auto found = tables_.memory.table.FindLive(region, memory::EntryType::kRegion);
  if (!found) return;
  const memory::TranslationTable& table = *(*found)->table;
  PageJob job{.request = {}, .address = arena.adapter_base + pages.first};
  job.page_count = (pages.last - pages.first + 1) >> table.page_shift().value();
  job.is_ahead = true;
  job.asked_at = Now();
  job.request.ticket = transport::kPrefetchTicket;
  job.request.fault.region = region;
  job.request.fault.guest = arena.guest;
  job.request.fault.page_shift = table.page_shift();
  job.request.fault.first_page =
      (pages.first - table.LinearAddress(0).value()) >> table.page_shift().value();
  job.request.fault.page_count = job.page_count;
  static_cast<void>(Submit(job));
}

ManagedPages::Asked ManagedPages::AskArena(const Pending& pending, ManagedArena& arena) {
  const PageJob& job = pending.job;
  const memory::Fault& fault = job.request.fault;
  const uint64_t offset = job.address - arena.adapter_base;
  const uint64_t budget = arena.arena->report().budget_bytes;
  const uint64_t share = FitsBudget(arena) ? arena.size : budget / kShareOfBudget;
  const uint64_t most = std::max(share, fault.page_shift.bytes());
  const uint64_t wanted =
      std::min({job.page_count * fault.page_shift.bytes(), most, arena.size - offset});
  const uint64_t length = quiesced_.LengthFree(job.address, LengthLeft(arena, job.address, wanted));
  if (length == 0) {
    Finish(pending);
    return Asked::kAsked;
  }
  if (!job.is_ahead) ++stage_faults_.second;
  const uint64_t ticket = ++last_ticket_;
  const bool asked = WhenMemory([&]() VERBENA_UNDER_CALLERS_LOCK {
    pending_.emplace(ticket, pending);
    arena.arena->PageIn(offset, length, fault.for_write, ticket);
  });
  if (asked) return Asked::kAsked;
  pending_.erase(ticket);
  return Asked::kNoMemory;
}

ManagedPages::Asked ManagedPages::Submit(const PageJob& job) { return Ask(job, nullptr); }

bool ManagedPages::PageInSome(PageJob& job) {
  PageWaiter waiter;
  {
    const TablesLock lock(tables_);
    const Asked asked = Ask(job, &waiter);
    if (asked == Asked::kNotManaged) return false;
    if (asked == Asked::kNoMemory) return true;
  }
  std::unique_lock lock(waiter.mutex);
  waiter.done.wait(lock, [&] { return waiter.job.has_value(); });
  job = *waiter.job;
  return true;
}

// Pages in part by part: all parts together may exceed the budget.
bool ManagedPages::PageIn(PageJob& job) {
  PageJob part = job;
  do {
    if (!PageInSome(part)) return false;
    job.paged_in += part.paged_in;
    job.is_mapped = part.is_mapped;
    part = RestAfter(part, part.paged_in);
  } while (job.is_mapped && part.page_count > 0);
  return true;
}

void ManagedPages::OnReady(uint64_t ticket, const managed::Answer& answer) {
  const TablesLock lock(tables_);
  const auto found = pending_.find(ticket);
  if (found == pending_.end()) return;  // its arena is being destroyed
  Pending pending = found->second;
  pending_.erase(found);
  PageJob& job = pending.job;
  // The region may have been quiesced meanwhile; then the pages must not enter the tables. Without
  // memory for a waiting job, the job is answered without pages.
  bool is_parked = false;
  const bool has_room = WhenMemory([&] { is_parked = IsParked(pending); });
  if (is_parked) return;
  // Pages that the program has unmapped meanwhile are not available.
  uint64_t length = answer && has_room ? LengthLeft(*pending.arena, job.address, *answer) : 0;
  length = quiesced_.LengthFree(job.address, length);
  if (length > 0) {
    const uint64_t page = job.request.fault.page_shift.bytes();
    job.paged_in = std::min(job.page_count, (length + page - 1) / page);
    job.is_mapped = EnterSecondStage(tables_.memory, job);
  }
  // A queue pair that prefetches for an unreliable message makes one request only.
  const bool goes_on = pending.waiter == nullptr && job.is_mapped &&
                       job.paged_in < job.page_count && FitsBudget(*pending.arena);
  const PageJob rest = RestAfter(job, job.paged_in);
  Finish(pending);
  if (goes_on) static_cast<void>(Ask(rest, nullptr));
}

void ManagedPages::Finish(const Pending& pending) {
  if (pending.waiter == nullptr) return answers_.Finish(pending.job);
  const std::lock_guard lock(pending.waiter->mutex);
  pending.waiter->job = pending.job;
  pending.waiter->done.notify_one();
}

// Without memory the report is dropped.
void ManagedPages::OnStore(paging::StoreReport report) {
  static_cast<void>(WhenMemory([&] { Warn(WarningOf(report)); }));
}

void ManagedPages::Warn(const std::string& warning) {
  if (on_urgent_warning_) {
    if (urgent_warnings_.fetch_add(1) < kWarningsMax) on_urgent_warning_(warning);
    return;
  }
  const TablesLock lock(tables_);
  AddWarning(warning);
}

void ManagedPages::AddWarning(std::string_view warning) {
  if (warnings_.size() == kWarningsMax) return;
  static_cast<void>(WhenMemory([&] { warnings_.emplace_back(warning); }));
}

void ManagedPages::OnGone(const std::byte* first, const std::byte* last) {
  const TablesLock lock(tables_);
  ManagedArena* const arena = FindArena(AddressOf(first));
  if (arena == nullptr) return;  // being destroyed
  const Interval gone{AddressOf(first), AddressOf(last)};
  const Interval offsets{gone.first - arena->adapter_base, gone.last - arena->adapter_base};
  const bool is_noted = WhenMemory([&]() VERBENA_UNDER_CALLERS_LOCK {
    arena->gone.push_back(gone);
    static_cast<void>(UpdateSegments(memory::SegmentChange::kDelete, *arena, offsets));
  });
  if (!is_noted) arena->all_is_gone = true;
  tables_.memory.InvalidateMachine(memory::MachineAddress(gone.first),
                                   memory::MachineAddress(gone.last));
  tables_.memory.InvalidateGuestPhysical(arena->guest, memory::PhysicalAddress(offsets.first),
                                         memory::PhysicalAddress(offsets.last));
}

void ManagedPages::OnUnmap(std::span<const std::span<std::byte>> ranges) {
  const TablesLock lock(tables_);
  for (const std::span<std::byte> range : ranges) {
    const uint64_t first = AddressOf(range.data());
    tables_.memory.InvalidateMachine(memory::MachineAddress(first),
                                     memory::MachineAddress(first + range.size() - 1));
  }
}

}  // namespace verbena::odp
