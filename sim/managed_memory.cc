#include "sim/managed_memory.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "paging/options.h"
#include "sim/draw.h"

namespace verbena::sim {
namespace {

constexpr uint32_t kFailuresMax = 3;
constexpr int64_t kOutageMax = 5'000;  // microseconds

managed::ArenaOptions OptionsOf(const Swarm& swarm, const VirtualClock& clock) {
  managed::ArenaOptions options;
  options.size = swarm.managed_pages * kPage;
  options.budget = swarm.budget_pages * kPage;
  options.view = managed::CpuViewKind::kSignal;  // every system has it, and no thread reads it
  options.paging.min_residency = Microseconds(50);
  options.paging.retry_first = Microseconds(500);
  options.paging.retry_max = Milliseconds(4);
  options.paging.patience = Milliseconds(20);
  options.now = [&clock] { return clock.now; };
  options.has_thread = false;
  return options;
}

}  // namespace

ManagedMemory::ManagedMemory(const Swarm& swarm, Endnode& node, Random& random,
                             Hypervisor* hypervisor)
    : swarm_(swarm),
      node_(node),
      slot_bytes_(swarm.slot_bytes),
      random_(random.Fork()),
      trouble_{.latency_max = swarm.store_latency,
               .read_failures = swarm.store_failures / 4,
               .write_failures = swarm.store_failures,
               .corruption = swarm.store_corruption,
               .fails_until = Time()},
      host_(node, random, swarm.quiesces),
      contents_(swarm.managed_pages * kPage),
      slots_((contents_.size() - swarm.managed_offset) / slot_bytes_),
      budget_(swarm.budget_pages),
      next_budget_(swarm.budget_pages) {
  managed::ArenaOptions options = OptionsOf(swarm, node.clock);
  options.wrap_swap_file = [this, from = random.Fork()](std::unique_ptr<managed::SwapFile>) {
    auto swap = std::make_unique<SlowSwap>(trouble_, from, node_.clock);
    swap_ = swap.get();
    return swap;
  };
  const auto made = node.engine.paging.managed.Make(options);
  CHECK(made.has_value());
  arena_ = *made;
  Register();
  if (hypervisor == nullptr) return;
  host_.Include(arena_, contents_.size());
  agent_ = std::make_unique<GuestAgent>(
      GuestAgent::Parts{*hypervisor, node_, host_.control(), *arena_, keys_.local,
                        contents_.size()},
      random.Fork(), [this](uint64_t bytes) {
        next_budget_ = static_cast<uint32_t>(std::min<uint64_t>(bytes, contents_.size()) / kPage);
        highest_budget_ = std::max(highest_budget_, next_budget_);
        ++counters_.budgets;
      });
}

void ManagedMemory::Register() {
  Endnode& node = node_;
  const adapter::EngineLock lock(node.engine);
  auto room = node.engine.paging.managed.MakeRoomForRegion();
  const auto keys = node.core.regions.Register(
      {.pd = node.pd,
       .start = KeyAddress(GuardedMemory::kBase),
       .length = contents_.size(),
       .rights = Access::kLocalRead | Access::kLocalWrite | Access::kRemote},
      memory::LinearBacking{.base = memory::PhysicalAddress(0), .guest = arena_->guest});
  CHECK(keys.has_value());
  keys_ = *keys;
  node.engine.paging.managed.Attach(std::move(room), keys_.local, *arena_);
}

ManagedMemory::~ManagedMemory() {
  agent_.reset();
  {
    const adapter::EngineLock lock(node_.engine);
    CHECK(node_.core.regions.Deregister(keys_.local).has_value());
    node_.engine.paging.managed.Release(keys_.local);
  }
  CHECK(node_.engine.paging.managed.Destroy(arena_).has_value());
}

void ManagedMemory::Step(bool is_calm, Findings& findings) {
  if (is_calm && !std::exchange(is_calm_, true)) trouble_ = {};
  if (resident_pages() > resident_) {
    findings.Add("managed", "a page is touched that the pager has taken");
  }
  const uint32_t budget_before =
      std::max(std::exchange(budget_, next_budget_), std::exchange(highest_budget_, 0));
  if (!is_calm_) Disturb();
  if (agent_) {
    RunAgent(findings);
  } else {
    host_.Step(*arena_, keys_.local, is_calm_, findings);
  }
  arena().RunOnce();
  CheckBudget(budget_before, findings);
}

void ManagedMemory::RunAgent(Findings& findings) {
  agent_->Step();
  const std::optional<Interval> out = agent_->emptied();
  if (!out) return;
  for (uint64_t at = out->first; at <= out->last; at += kPage) {
    if (arena().residency(at) == managed::Residency::kInMemory) {
      findings.Add("quiesce", "a page is in memory that the hypervisor has taken");
    }
  }
}

// Requests made before a change of the budget are served within the highest budget until then;
// after a lower budget, or an overrun, memory is above the budget until enough was written, and
// does not grow meanwhile.
void ManagedMemory::CheckBudget(uint32_t budget_before, Findings& findings) {
  const managed::ArenaReport report = arena().report();
  resident_ = resident_pages();
  if (resident_ > report.paging.in_memory) {
    findings.Add("managed", "a page is in memory that the pager does not know of");
  }
  const bool is_store_well = report.store == paging::StoreReport::kWell;
  const bool has_overrun = !std::exchange(was_store_well_, is_store_well) || !is_store_well;
  const uint32_t budget = std::max(budget_, budget_before);
  const uint32_t overrun = has_overrun ? paging::Shares(budget).overrun_max : 0;
  const uint32_t before = std::exchange(in_memory_, report.paging.in_memory);
  if (in_memory_ <= before || in_memory_ <= budget + overrun) return;
  findings.Add("managed", std::to_string(in_memory_) + " pages are in memory, of " +
                              std::to_string(budget) + " in the budget");
}

void ManagedMemory::Disturb() {
  if (random_.Chance(swarm_.store_outages, 1000)) {
    trouble_.fails_until = node_.clock.now + UpTo(random_, kOutageMax);
  }
  if (random_.Chance(swarm_.budget_changes, 1000)) ChangeBudget();
  if (random_.Chance(swarm_.discards, 1000)) DiscardSome();
}

// Sometimes everything fits.
void ManagedMemory::ChangeBudget() {
  budget_ = static_cast<uint32_t>(random_.Between(paging::kBudgetMin, swarm_.managed_pages + 4));
  next_budget_ = budget_;
  arena().SetBudget(budget_ * kPage);
  ++counters_.budgets;
}

// Takes effect at the next run of the pager, before any other operation. Whole pages of which no
// operation uses a slot, or can still change one.
void ManagedMemory::DiscardSome() {
  const uint64_t first = random_.Below(swarm_.managed_pages) * kPage;
  const uint64_t length = std::min(random_.Between(1, 3) * kPage, contents_.size() - first);
  const std::span<Slot> slots = SlotsAt(first, length);
  const bool is_used =
      std::ranges::any_of(slots, [](const Slot& slot) { return slot.is_taken || slot.is_unknown; });
  if (is_used) return;
  arena().Discard(first, length);
  std::ranges::fill(slots, Slot());
  std::ranges::fill(std::span(contents_).subspan(first, length), std::byte());
  ++counters_.discarded;
}

std::span<ManagedMemory::Slot> ManagedMemory::SlotsAt(uint64_t first, uint64_t length) {
  const uint64_t origin = swarm_.managed_offset;
  const uint64_t begin = first > origin ? (first - origin) / slot_bytes_ : 0;
  const uint64_t last = first + length > origin ? first + length - origin : 0;
  const uint64_t end = std::min<uint64_t>((last + slot_bytes_ - 1) / slot_bytes_, slots_.size());
  return begin < end ? std::span(slots_).subspan(begin, end - begin) : std::span<Slot>();
}

bool ManagedMemory::is_quiet() {
  const adapter::EngineLock lock(node_.engine);
  return swap_->is_idle() && node_.engine.paging.managed.outstanding() == 0;
}

void ManagedMemory::CheckEnd(Findings& findings) {
  arena().Discard(0, contents_.size());
  arena().RunOnce();
  if (resident_pages() > 0) findings.Add("leaks", "managed memory is in use that was given up");
  if (arena().report().swap.bytes_held > 0) {
    findings.Add("leaks", "the swap file holds contents that were given up");
  }
  if (arena().ResidencyMap(1).front().absent != swarm_.managed_pages) {
    findings.Add("leaks", "a page of managed memory is somewhere that was given up");
  }
}

bool ManagedMemory::Slot::is_lost() const { return is_unknown || failures >= kFailuresMax; }

// Half of the time near the last one, whose page may be being evicted.
std::optional<uint32_t> ManagedMemory::Take(Random& random) {
  if (agent_ && !agent_->has_grant()) return std::nullopt;
  constexpr uint32_t kNear = 4;
  const uint64_t near = std::min<uint64_t>(last_taken_ + random.Below(kNear), slots_.size() - 1);
  const uint64_t any = random.Below(slots_.size());
  const auto slot = static_cast<uint32_t>(random.Chance(1, 2) ? near : any);
  if (slots_[slot].is_taken || slots_[slot].is_lost()) return std::nullopt;
  slots_[slot].is_taken = true;
  last_taken_ = slot;
  return slot;
}

std::optional<uint32_t> ManagedMemory::TakeUnread() {
  if (agent_ && !agent_->has_grant()) return std::nullopt;
  const auto unread = std::ranges::find_if(
      slots_, [](const Slot& slot) { return !slot.is_taken && !slot.is_lost() && !slot.is_read; });
  if (unread == slots_.end()) return std::nullopt;
  unread->is_taken = true;
  return static_cast<uint32_t>(unread - slots_.begin());
}

bool ManagedMemory::all_are_read() const {
  return std::ranges::all_of(slots_,
                             [](const Slot& slot) { return slot.is_read || slot.is_lost(); });
}

RemoteAddress ManagedMemory::Remote(uint32_t slot) const {
  return {GuardedMemory::kBase + OffsetOf(slot), keys_.remote};
}

void ManagedMemory::Wrote(uint32_t slot, std::span<const std::byte> bytes, bool well) {
  slots_[slot].is_taken = false;
  slots_[slot].is_unknown = !well;
  if (bytes.empty()) return;
  std::memcpy(&contents_[OffsetOf(slot)], bytes.data(), bytes.size());
}

void ManagedMemory::Read(uint32_t slot, bool well) {
  Slot& ended = slots_[slot];
  ended.is_taken = false;
  ended.is_read = well && is_calm_;
  ended.failures = well ? 0 : ended.failures + 1;
  if (well) ++counters_.reads;
}

ManagedCounters ManagedMemory::counters() const {
  const managed::ArenaReport report = arena().report();
  ManagedCounters counters = counters_;
  counters.loaded = report.swap.loaded;
  counters.broken = report.paging.broken;
  counters.taken = host_.counters().whole + host_.counters().parts;
  counters.emptied = host_.counters().emptied;
  counters.awaited = host_.counters().awaited;
  if (agent_) {
    counters.taken += agent_->taken();
    counters.emptied += agent_->emptied_count();
    counters.awaited += agent_->awaited();
  }
  return counters;
}

}  // namespace verbena::sim
