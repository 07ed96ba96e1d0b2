// How a ResidentSet finds memory. Granules leave in three steps: parted (unmapped, and so asked
// whether they are still in use), clean (written if need be), dropped.

#include <algorithm>

#include "paging/resident_set.h"

namespace verbena::paging {

void ResidentSet::SetBudget(uint32_t granules, Time now) {
  now_ = std::max(now_, now);
  shares_ = Shares(granules);
  eviction_.SetCapacity(shares_.budget);
  Balance();
}

// What cannot be written does not count, up to a bound: a store that is full for good must not
// fill memory.
uint32_t ResidentSet::Limit() const {
  if (health_.is_well()) return shares_.budget;
  return shares_.budget + std::min(stuck_.size(), shares_.overrun_max);
}

// While the store is ill, no more than the budget gets dirty: the overrun is for reads, or
// there would soon be no memory for any request.
bool ResidentSet::MayDirty() const {
  return health_.is_well() || dirty_ + pledged_ < shares_.budget;
}

void ResidentSet::SetDirty(Frame& frame, bool is_dirty) {
  if (frame.is_dirty == is_dirty) return;
  frame.is_dirty = is_dirty;
  dirty_ = is_dirty ? dirty_ + 1 : dirty_ - 1;
}

// How many granules could come before another has to be parted. What an ill store is given will
// probably not leave.
int64_t ResidentSet::Reserve() const {
  const uint32_t leaving = health_.is_well() ? leaving_ : 0;
  return int64_t{Limit()} - granules_.frame_count() + unmapped_.size() + leaving;
}

// Room for `count` granules, if that is possible at once. True if there is room for one.
bool ResidentSet::MakeRoom(uint32_t count) {
  DropUnmapped(count);
  if (granules_.frame_count() + count > Limit()) {
    FillReserve(count);
    DropUnmapped(count);
  }
  return granules_.frame_count() < Limit();
}

// After every input: serves the requests that wait, then makes room so that the next need not.
void ResidentSet::Balance() {
  EndMinResidency(shares_.min_residency_floor);
  Serve();
  FillReserve(0);
  DropUnmapped(0);
  RetryWrites();
}

// While the store is ill, no more is parted than is needed: dirty granules would all be stuck. Nor
// when all that could still come has room.
void ResidentSet::FillReserve(uint32_t needed) {
  const bool is_well = health_.is_well();
  const uint32_t outside = is_well ? granule_count() - granules_.frame_count() : 0;
  if (Reserve() >= int64_t{needed} + std::min(shares_.reserve_low, outside)) return;
  // Not one for each write that ends: many at a time are unmapped by one call each, and written in
  // a row.
  if (writes_under_way_ > options_.writes_max / 2) return;
  const int64_t wanted = int64_t{needed} + std::min(shares_.reserve_high, outside);
  while (Reserve() < wanted && writes_under_way_ < options_.writes_max) {
    const int64_t most = options_.writes_max - writes_under_way_;
    if (!UnmapSome(static_cast<uint32_t>(std::min(wanted - Reserve(), most)))) return;
  }
}

// First unmaps all, then writes: what lies side by side is one action then. False: there was none.
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

// As many as it takes to make room for `count`, or all.
void ResidentSet::DropUnmapped(uint64_t count) {
  while (granules_.frame_count() + count > Limit() && !unmapped_.empty()) {
    Frame& frame = *unmapped_.PopOldest();
    CHECK(!frame.is_dirty && frame.cpu == Rights::kNone && frame.adapter == Rights::kNone);
    Do(Verb::kDrop, frame);
    ++counters_.drops;
    Remove(frame, frame.is_stored ? Place::kSwapped : Place::kZero, eviction_.NextStamp());
  }
}

// For those whose time is over, but for the last `kept`: these may be some of several that a thread
// needs together, and the others may take long to come.
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

// Only of what is mapped nowhere, so that the contents stay as they are.
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

// One granule that an ill store did not take; or, if there is none and a request waits, one that it
// was not asked to take yet.
void ResidentSet::RetryWrites() {
  if (health_.is_well() || !health_.MayWrite(writes_under_way_, now_)) return;
  if (!stuck_.empty()) return StartWrite(*stuck_.PopOldest());
  while (requests_.head() != RequestTable::kNone && writes_under_way_ == 0) {
    if (!UnmapSome(1)) return;
  }
}

}  // namespace verbena::paging
