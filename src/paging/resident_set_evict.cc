// How a ResidentSet frees memory. A granule is evicted in three steps: it is unmapped, so that a
// fault shows if it is still in use; it is written if it is dirty; it is dropped.

#include <algorithm>

#include "paging/resident_set.h"

namespace verbena::paging {

void ResidentSet::SetBudget(uint32_t granules, Time now) {
  now_ = std::max(now_, now);
  shares_ = Shares(granules);
  eviction_.SetCapacity(shares_.budget);
  Balance();
}

// Granules that cannot be written do not count, up to a bound: a store that stays full must not
// fill memory.
uint32_t ResidentSet::Limit() const {
  if (health_.is_well()) return shares_.budget;
  return shares_.budget + std::min(stuck_.size(), shares_.overrun_max);
}

// While the store is failing, no more than the budget gets dirty. The overrun is for reads;
// otherwise there would soon be no memory for any request.
bool ResidentSet::MayDirty() const {
  return health_.is_well() || dirty_ + pledged_ < shares_.budget;
}

void ResidentSet::SetDirty(Frame& frame, bool is_dirty) {
  if (frame.is_dirty == is_dirty) return;
  frame.is_dirty = is_dirty;
  dirty_ = is_dirty ? dirty_ + 1 : dirty_ - 1;
}

// How many granules can be paged in before another has to be unmapped. A granule that a failing
// store is writing does not count, because the write will probably fail.
int64_t ResidentSet::Reserve() const {
  const uint32_t leaving = health_.is_well() ? leaving_ : 0;
  return int64_t{Limit()} - granules_.frame_count() + unmapped_.size() + leaving;
}

// Makes room for `count` granules as far as that is possible at once. True if there is room for
// one.
bool ResidentSet::MakeRoom(uint32_t count) {
  DropUnmapped(count);
  if (granules_.frame_count() + count > Limit()) {
    FillReserve(count);
    DropUnmapped(count);
  }
  return granules_.frame_count() < Limit();
}

// Runs after every input: serves the requests that wait, then makes room so that the next need not
// wait.
void ResidentSet::Balance() {
  EndMinResidency(shares_.min_residency_floor);
  ContinueSwapOuts();
  Serve();
  FillReserve(0);
  DropUnmapped(0);
  RetryWrites();
  // the granules unmapped above may belong to a swap-out, and no other input may follow
  ContinueSwapOuts();
}

// While the store is failing, no more granules are unmapped than needed: the dirty ones would all
// be stuck. None are unmapped either when there is room for all granules that are not in memory.
void ResidentSet::FillReserve(uint32_t needed) {
  const bool is_well = health_.is_well();
  const uint32_t outside = is_well ? granule_count() - granules_.frame_count() : 0;
  if (Reserve() >= int64_t{needed} + std::min(shares_.reserve_low, outside)) return;
  // In batches instead of one granule for each write that ends: one call unmaps many, and they are
  // written in a row.
  if (writes_under_way_ > options_.writes_max / 2) return;
  const int64_t wanted = int64_t{needed} + std::min(shares_.reserve_high, outside);
  while (Reserve() < wanted && writes_under_way_ < options_.writes_max) {
    const int64_t most = options_.writes_max - writes_under_way_;
    if (!UnmapSome(static_cast<uint32_t>(std::min(wanted - Reserve(), most)))) return;
  }
}

// Unmaps all victims before it writes any, so that neighbours become one action. False if there is
// no victim.
bool ResidentSet::UnmapSome(uint32_t count) {
  FrameList victims;
  while (victims.size() < count) {
    Frame* victim = health_.is_well() ? stuck_.PopOldest() : nullptr;
    if (victim == nullptr) victim = eviction_.TakeVictim();
    if (victim == nullptr) break;
    Unmap(*victim);
    victims.PushNewest(*victim);
  }
  counters_.unmapped += victims.size();
  if (victims.empty()) return false;
  while (Frame* const victim = victims.PopOldest()) PlaceUnmapped(*victim);
  return true;
}

void ResidentSet::PlaceUnmapped(Frame& frame) {
  if (frame.phase == Frame::Phase::kWriting) {
    SetLeaving(frame, true);
  } else if (!frame.is_dirty) {
    unmapped_.PushNewest(frame);
  } else if (health_.MayWrite(writes_under_way_, now_)) {
    StartWrite(frame);
  } else {
    stuck_.PushNewest(frame);
  }
}

// Drops unmapped granules until there is room for `count`, or none is left.
void ResidentSet::DropUnmapped(uint64_t count) {
  while (granules_.frame_count() + count > Limit() && !unmapped_.empty()) {
    DropFrame(*unmapped_.PopOldest());
  }
}

void ResidentSet::DropFrame(Frame& frame) {
  CHECK(!frame.is_dirty && frame.cpu == Rights::kNone && frame.adapter == Rights::kNone);
  Do(Verb::kDrop, frame);
  ++counters_.drops;
  Remove(frame, frame.is_stored ? Place::kSwapped : Place::kZero, eviction_.NextStamp());
}

// Ends the minimum residency of granules whose time is over, except the last `kept`: these can be
// some of several that a thread needs together, and paging in the others can take long.
void ResidentSet::EndMinResidency(uint32_t kept) {
  while (min_residency_.size() > kept && MinResidencyEnd() <= now_)
    eviction_.Enter(*min_residency_.PopOldest());
}

void ResidentSet::Unmap(Frame& frame) {
  const auto unmap = [&](View view, Rights& rights) {
    if (rights == Rights::kNone) return;
    rights = Rights::kNone;
    actions_.Add({.verb = Verb::kUnmap, .run = {frame.granule, 1}, .view = view});
  };
  unmap(View::kCpu, frame.cpu);
  unmap(View::kAdapter, frame.adapter);
}

// REQUIRES: the granule is mapped in no view, so that its contents cannot change.
void ResidentSet::StartWrite(Frame& frame) {
  CHECK(frame.is_dirty && frame.phase == Frame::Phase::kResident);
  CHECK(frame.cpu == Rights::kNone && frame.adapter == Rights::kNone);
  frame.phase = Frame::Phase::kWriting;
  frame.is_rewritten = false;
  SetLeaving(frame, true);
  ++writes_under_way_;
  ++counters_.writes;
  Do(Verb::kWrite, frame);
}

void ResidentSet::SetLeaving(Frame& frame, bool is_leaving) {
  if (frame.is_leaving == is_leaving) return;
  frame.is_leaving = is_leaving;
  leaving_ = is_leaving ? leaving_ + 1 : leaving_ - 1;
}

// Writes one granule that a failing store did not take. If there is none and a request waits,
// writes one that was not tried yet.
void ResidentSet::RetryWrites() {
  if (health_.is_well() || !health_.MayWrite(writes_under_way_, now_)) return;
  if (!stuck_.empty()) return StartWrite(*stuck_.PopOldest());
  while (requests_.head() != RequestTable::kNone && writes_under_way_ == 0) {
    if (!UnmapSome(1)) return;
  }
}

}  // namespace verbena::paging
