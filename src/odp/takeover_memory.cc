#include "odp/takeover_memory.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/clock.h"
#include "base/when_memory.h"
#include "managed/program_memory.h"
#include "managed/swap_file.h"

namespace verbena::odp {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kShareMin = paging::kBudgetMin * kPage;

std::span<std::byte> BytesOf(const memory::RegionSpec& spec, const memory::LinearBacking& linear) {
  return {reinterpret_cast<std::byte*>(linear.base.value()), spec.length};
}

Interval IntervalOf(uint64_t address, uint64_t length) {
  return {address, address + std::max<uint64_t>(length, 1) - 1};
}

Interval IntervalOf(std::span<const std::byte> bytes) {
  return IntervalOf(reinterpret_cast<uintptr_t>(bytes.data()), bytes.size());
}

// The minimum budget of an arena.
uint64_t LeastOf(const ManagedArena& arena) {
  return paging::kBudgetMin * arena.arena->granule().bytes();
}

// Of memory that was taken over.
ArenaDemand DemandOf(uint64_t size) { return {kShareMin, size}; }

void Add(BudgetCounters& sum, const managed::ArenaReport& report) {
  sum.pages_read += report.paging.reads;
  sum.pages_written += report.paging.writes;
  sum.program_faults += report.cpu_faults;
  sum.pages_lost += report.paging.broken;
}

// In the worst case all that does not fit the budget goes there uncompressed. A disk that gets full
// later would stop the program.
ErrorOr<void> CheckRoom(const std::string& swap, uint64_t bytes) {
  const uint64_t room = managed::RoomAt(swap);
  if (bytes <= room) return {};
  return Fail(Error{ErrorCode::kLimit, swap + " has room for " + std::to_string(room) +
                                           " bytes, but " + std::to_string(bytes) +
                                           " bytes may have to be written to it"});
}

}  // namespace

TakeoverMemory::TakeoverMemory(LockedTables& tables, ManagedPages& managed, Budget budget)
    : tables_(tables),
      managed_(managed),
      budget_(budget.bytes),
      adopts_(budget.bytes > 0),
      swap_(std::move(budget.swap)),
      strict_(budget.strict),
      floor_(budget.floor) {}

TakeoverMemory::~TakeoverMemory() { CHECK(arenas_.empty()); }

ErrorOr<void> TakeoverMemory::Prepare(const memory::RegionSpec& spec,
                                      const memory::Backing& backing) {
  const auto* const linear = std::get_if<memory::LinearBacking>(&backing);
  if (!adopts_ || linear == nullptr || spec.length == 0) return {};
  const std::span<std::byte> bytes = BytesOf(spec, *linear);
  if (IsManaged(bytes)) return {};
  if (spec.length >= managed::kTakeoverMin) {
    // Checked before the memory is examined, which takes longer than registering it.
    if (const char* const why = WhyNoMore()) return StayNative(spec.length, why);
  }
  const auto pages = managed::TakeoverPages(bytes);
  if (!pages) return StayNative(spec.length, "it " + pages.error());
  if (IsManaged(*pages)) return StayNative(spec.length, "it shares pages with another region");
  if (const auto takeover = TryTakeOver(*pages); !takeover) {
    return StayNative(spec.length, takeover.error().text);
  }
  return {};
}

// nullptr: one more arena may be created.
const char* TakeoverMemory::WhyNoMore() const {
  if (arenas_.size() == kArenasMax) return "the limit of 64 regions under it is reached";
  if (Least() + kShareMin > budget_) return "it is too small for one more";
  if (!FitsFloor(kShareMin)) return "the minimum of the guest is too small for one more";
  return nullptr;
}

ErrorOr<void> TakeoverMemory::TryTakeOver(std::span<std::byte> pages) {
  const auto refuse = [](const char* why) { return Fail(Error{ErrorCode::kLimit, why}); };
  if (IsOurs(pages)) return refuse("it has tables of this library in it");
  if (IsNamed(pages)) return refuse("a region that is not under it has some of the same bytes");
  arenas_.reserve(arenas_.size() + 1);
  const BudgetDivision division = Divide(pages.size());
  const uint64_t share = division.ShareOf(DemandOf(pages.size()), kPage);
  if (const auto ok = CheckRoom(swap_, pages.size() - std::min(share, pages.size())); !ok) {
    Divide(0);
    return Fail(ok.error());
  }
  AwaitShares(division);
  managed::ArenaOptions options{.takes_over = pages, .budget = share};
  options.swap = swap_;
  options.counted_in = &resident_;
  const auto takeover = managed_.TakeOver(options);
  if (!takeover) {
    Divide(0);
    return Fail(takeover.error());
  }
  arenas_.push_back(*takeover);
  ++past_.regions_taken_over;
  past_.bytes_taken_over += pages.size();
  return {};
}

void TakeoverMemory::Settle(const memory::RegionSpec& spec, const memory::Backing& backing,
                            const ErrorOr<memory::RegionKeys>& made) {
  if (!adopts_) return;
  ReleaseUnused();
  if (!made) return;
  std::vector<Interval> named;
  if (const auto* const linear = std::get_if<memory::LinearBacking>(&backing)) {
    const std::span<const std::byte> bytes = BytesOf(spec, *linear);
    if (IsManaged(bytes)) {
      MapWhatIsThere(spec, bytes, made->local);
    } else {
      named.push_back(IntervalOf(bytes));
    }
  } else if (const auto* const list = std::get_if<memory::PageListBacking>(&backing)) {
    for (const memory::PhysicalAddress page : list->pages) {
      named.push_back(IntervalOf(page.value(), list->page_shift.bytes()));
    }
  } else if (const auto* const shared = std::get_if<memory::SharedBacking>(&backing)) {
    const auto with = named_.find(shared->with);
    if (with != named_.end()) named = with->second;
  }
  if (!named.empty()) named_[made->local] = std::move(named);
}

// Memory that fits the budget is mapped in the tables as before: an unreliable message would be
// lost on an absent page, and the pages of an incoming write are not requested beforehand.
void TakeoverMemory::MapWhatIsThere(const memory::RegionSpec& spec,
                                    std::span<const std::byte> bytes, Key region) {
  const TablesLock lock(tables_);
  const auto place = managed_.Find(reinterpret_cast<uintptr_t>(bytes.data()), bytes.size());
  if (!place || place->arena == nullptr || bytes.empty()) return;
  const ManagedArena& arena = *place->arena;
  if (arena.arena->report().budget_bytes < arena.size) return;
  const uint64_t first = place->address.value() / kPage;
  const uint64_t end = (place->address.value() + bytes.size() - 1) / kPage + 1;
  const auto is_there = [&](uint64_t page) {
    return arena.arena->residency(page * kPage) == managed::Residency::kInMemory;
  };
  for (uint64_t page = first; page < end; ++page) {
    PageJob job{.request = {}, .address = arena.adapter_base + page * kPage};
    while (page + job.page_count < end && is_there(page + job.page_count)) ++job.page_count;
    if (job.page_count == 0) continue;
    job.asked_at = Now();
    job.is_ahead = true;
    job.request.fault.region = region;
    job.request.fault.guest = arena.guest;
    job.request.fault.first_page = page - first;
    job.request.fault.page_count = job.page_count;
    job.request.fault.for_write = spec.rights.Has(Access::kLocalWrite);
    static_cast<void>(managed_.Submit(job));
    page += job.page_count;
  }
}

void TakeoverMemory::OnRegionEnded(Key region) {
  if (!adopts_) return;
  named_.erase(region);
  ReleaseUnused();
}

void TakeoverMemory::OnRegionRenamed(Key from, Key to) {
  auto named = named_.extract(from);
  if (!named) return;
  named.key() = to;
  named_.insert(std::move(named));
}

void TakeoverMemory::ReleaseUnused() {
  const auto is_used = [this](const ManagedArena* arena) {
    const TablesLock lock(tables_);
    return arena->regions > 0;
  };
  for (size_t i = arenas_.size(); i-- > 0;) {
    if (!is_used(arenas_[i])) Release(arenas_[i]);
  }
}

void TakeoverMemory::Release(ManagedArena* arena) {
  std::erase(arenas_, arena);
  Add(past_, managed_.GiveBack(arena));
  Divide(0);
}

void TakeoverMemory::ReleaseAll() {
  while (!arenas_.empty()) Release(arenas_.back());
}

BudgetCounters TakeoverMemory::counters() const {
  BudgetCounters sum = past_;
  sum.resident_peak = resident_.peak();
  for (const ManagedArena* const arena : arenas_) Add(sum, arena->arena->report());
  return sum;
}

bool TakeoverMemory::IsManaged(std::span<const std::byte> bytes) const {
  const TablesLock lock(tables_);
  const auto found = managed_.Find(reinterpret_cast<uintptr_t>(bytes.data()), bytes.size());
  return !found || found->arena != nullptr;
}

// A program may register a whole heap, with objects of this library in it.
bool TakeoverMemory::IsOurs(std::span<const std::byte> pages) const {
  const auto holds = [&](const void* object) {
    return IntervalOf(pages).Contains(reinterpret_cast<uintptr_t>(object));
  };
  return holds(this) || holds(&tables_);
}

bool TakeoverMemory::IsNamed(std::span<const std::byte> pages) const {
  const Interval all = IntervalOf(pages);
  return std::ranges::any_of(named_, [&](const auto& region) {
    return std::ranges::any_of(region.second, [&](Interval part) { return part.Overlaps(all); });
  });
}

void TakeoverMemory::Include(ManagedArena* arena, uint64_t limit) {
  own_.push_back({arena, limit});
  if (is_guest_) Divide(0);
}

void TakeoverMemory::SetLimit(ManagedArena* arena, uint64_t limit) {
  for (Own& own : own_) {
    if (own.arena == arena) own.limit = limit;
  }
  is_guest_ ? static_cast<void>(Divide(0)) : arena->arena->SetBudget(limit);
}

void TakeoverMemory::Exclude(const ManagedArena* arena) {
  std::erase_if(own_, [arena](const Own& own) { return own.arena == arena; });
  if (is_guest_) Divide(0);
}

ErrorOr<void> TakeoverMemory::SetBudget(uint64_t bytes) {
  uint64_t least = kShareMin;
  for (const ManagedArena* const arena : arenas_) least += LeastOf(*arena);
  for (const Own& own : own_) least += LeastOf(*own.arena);
  if (bytes < least) {
    return Fail(Error{ErrorCode::kInvalid, "the memory budget of a guest with " +
                                               std::to_string(arenas_.size() + own_.size()) +
                                               " pieces of managed memory is at least " +
                                               std::to_string(least) + " bytes"});
  }
  is_guest_ = true;
  budget_ = bytes;
  Divide(0);
  return {};
}

TakeoverMemory::Use TakeoverMemory::QueryUse() const {
  Use use{.faults = past_.pages_read};
  ForEachArena([&](const ManagedArena& arena) {
    const managed::ArenaReport report = arena.arena->report();
    use.resident += arena.arena->resident_bytes();
    use.swapped += report.swap.bytes_held;
    use.faults += report.paging.zeros + report.paging.reads + report.paging.waits;
  });
  return use;
}

bool TakeoverMemory::FitsFloor(uint64_t least) const {
  if (floor_ == 0) return true;
  uint64_t sum = kShareMin + least;  // the same sum as in SetBudget
  ForEachArena([&](const ManagedArena& arena) { sum += LeastOf(arena); });
  return sum <= floor_;
}

uint64_t TakeoverMemory::resident_bytes() const {
  uint64_t sum = 0;
  for (const ManagedArena* const arena : arenas_) sum += arena->arena->resident_bytes();
  for (const Own& own : own_) sum += own.arena->arena->resident_bytes();
  return sum;
}

uint64_t TakeoverMemory::managed_bytes() const {
  uint64_t sum = 0;
  for (const ManagedArena* const arena : arenas_) sum += arena->size;
  for (const Own& own : own_) sum += own.arena->size;
  return sum;
}

ArenaDemand TakeoverMemory::Own::demand() const {
  return {LeastOf(*arena), std::min(limit, arena->size)};
}

// The sum of the minima of the arenas that share the budget.
uint64_t TakeoverMemory::Least() const {
  uint64_t least = arenas_.size() * kShareMin;
  for (const Own& own : own_) least += is_guest_ ? LeastOf(*own.arena) : 0;
  return least;
}

// Computes the division among the existing arenas, and one more of this size if it is not 0.
BudgetDivision TakeoverMemory::Divide(uint64_t also_size) {
  BudgetDivision division(budget_);
  division.Add(DemandOf(also_size));
  for (const ManagedArena* const arena : arenas_) division.Add(DemandOf(arena->size));
  for (const Own& own : own_) {
    if (is_guest_) division.Add(own.demand());
  }
  for (ManagedArena* const arena : arenas_) {
    arena->arena->SetBudget(division.ShareOf(DemandOf(arena->size), kPage));
  }
  for (const Own& own : own_) {
    if (!is_guest_) break;
    const uint64_t granule = own.arena->arena->granule().bytes();
    own.arena->arena->SetBudget(division.ShareOf(own.demand(), granule));
  }
  return division;
}

// Waits so that the sum stays within the budget. The wait is bounded: a swap file that takes no
// data must not stop everything.
void TakeoverMemory::AwaitShares(const BudgetDivision& division) const {
  constexpr int kProbesMax = 1000;
  const auto is_above = [&](const ManagedArena* arena) {
    return arena->arena->resident_bytes() > division.ShareOf(DemandOf(arena->size), kPage);
  };
  for (int i = 0; i < kProbesMax && std::ranges::any_of(arenas_, is_above); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

ErrorOr<void> TakeoverMemory::StayNative(uint64_t length, const std::string& why) {
  if (strict_ && length >= managed::kTakeoverMin) {
    return Fail(Error{ErrorCode::kLimit, "a region of " + std::to_string(length) +
                                             " bytes would not be under the memory budget, which "
                                             "is strict, because " +
                                             why});
  }
  ++past_.regions_native;
  // Without memory the warning is dropped.
  static_cast<void>(WhenMemory([&] {
    if (!warned_.insert(why).second) return;
    const TablesLock lock(tables_);
    managed_.AddWarning("a region of " + std::to_string(length) +
                        " bytes is not under the memory budget, because " + why);
  }));
  return {};
}

}  // namespace verbena::odp
