// How a Ledger finds memory. Granules leave in three steps: parted (unmapped, and so asked whether
// somebody still uses them), clean (written if need be), dropped.

#include <algorithm>

#include "paging/ledger.h"

namespace verbena::paging {

void Ledger::SetBudget(uint32_t granules, Time now) {
  now_ = std::max(now_, now);
  shares_ = Shares(granules);
  eviction_.SetCapacity(shares_.budget);
  Balance();
}

// What cannot be written does not count, up to a bound: a store that is full for good must not
// fill memory.
uint32_t Ledger::Limit() const {
  if (health_.is_well()) return shares_.budget;
  return shares_.budget + std::min(stuck_.size(), shares_.overrun_max);
}

// While the store is ill, no more than the budget gets dirty: the overrun is for those who read, or
// there would soon be no memory in which anybody could do anything.
bool Ledger::MayDirty() const { return health_.is_well() || dirty_ + pledged_ < shares_.budget; }

void Ledger::SetDirty(Frame& frame, bool is_dirty) {
  if (frame.is_dirty == is_dirty) return;
  frame.is_dirty = is_dirty;
  dirty_ = is_dirty ? dirty_ + 1 : dirty_ - 1;
}

// How many granules could come before another has to be parted. What an ill store is given will
// probably not leave.
int64_t Ledger::Reserve() const {
  const uint32_t leaving = health_.is_well() ? leaving_ : 0;
  return int64_t{Limit()} - granules_.frame_count() + parted_.size() + leaving;
}

// Room for `count` granules, if that is possible at once. True if there is room for one.
bool Ledger::MakeRoom(uint32_t count) {
  DropParted(count);
  if (granules_.frame_count() + count > Limit()) {
    FillReserve(count);
    DropParted(count);
  }
  return granules_.frame_count() < Limit();
}

// After every input: serves those who wait, then sees to it that the next ones need not.
void Ledger::Balance() {
  EndGrace(shares_.grace_min);
  Serve();
  FillReserve(0);
  DropParted(0);
  RetryWrites();
}

// While the store is ill, no more is parted than is needed: dirty granules would all be stuck. Nor
// when all that could still come has room.
void Ledger::FillReserve(uint32_t needed) {
  const bool is_well = health_.is_well();
  const uint32_t outside = is_well ? granule_count() - granules_.frame_count() : 0;
  if (Reserve() >= int64_t{needed} + std::min(shares_.reserve_low, outside)) return;
  // Not one for each write that ends: many at a time are unmapped by one call each, and written in
  // a row.
  if (writes_under_way_ > options_.writes_max / 2) return;
  const int64_t wanted = int64_t{needed} + std::min(shares_.reserve_high, outside);
  while (Reserve() < wanted && writes_under_way_ < options_.writes_max) {
    const int64_t most = options_.writes_max - writes_under_way_;
    if (!PartSome(static_cast<uint32_t>(std::min(wanted - Reserve(), most)))) return;
  }
}

// First unmaps all, then writes: what lies side by side is one action then. False: there was none.
bool Ledger::PartSome(uint32_t count) {
  FrameList victims;
  while (victims.size() < count) {
    Frame* victim = health_.is_well() ? stuck_.PopOldest() : nullptr;
    if (victim == nullptr) victim = eviction_.TakeVictim();
    if (victim == nullptr) break;
    Unmap(*victim);
    victims.PushNewest(*victim);
  }
  counters_.parted += victims.size();
  if (victims.empty()) return false;
  while (Frame* const victim = victims.PopOldest()) PlaceParted(*victim);
  return true;
}

void Ledger::PlaceParted(Frame& frame) {
  if (frame.phase == Frame::Phase::kWriting) {
    SetLeaving(frame, true);
  } else if (!frame.is_dirty) {
    parted_.PushNewest(frame);
  } else if (health_.MayWrite(writes_under_way_, now_)) {
    StartWrite(frame);
  } else {
    stuck_.PushNewest(frame);
  }
}

// As many as it takes to make room for `count`, or all.
void Ledger::DropParted(uint64_t count) {
  while (granules_.frame_count() + count > Limit() && !parted_.empty()) {
    Frame& frame = *parted_.PopOldest();
    CHECK(!frame.is_dirty && frame.cpu == Rights::kNone && frame.adapter == Rights::kNone);
    Do(Verb::kDrop, frame);
    ++counters_.drops;
    Remove(frame, frame.is_stored ? Place::kSwapped : Place::kZero, eviction_.NextStamp());
  }
}

// For those whose time is over, but for the last `kept`: these may be some of several that somebody
// needs together, and the others may take long to come.
void Ledger::EndGrace(uint32_t kept) {
  while (grace_.size() > kept && GraceEnd() <= now_) eviction_.Enter(*grace_.PopOldest());
}

void Ledger::Unmap(Frame& frame) {
  const auto unmap = [&](View view, Rights& rights) {
    if (rights == Rights::kNone) return;
    rights = Rights::kNone;
    actions_.Add({.verb = Verb::kUnmap, .run = {frame.granule, 1}, .view = view});
  };
  unmap(View::kCpu, frame.cpu);
  unmap(View::kAdapter, frame.adapter);
}

// Only of what is mapped nowhere, so that the contents stay as they are.
void Ledger::StartWrite(Frame& frame) {
  CHECK(frame.is_dirty && frame.phase == Frame::Phase::kResident);
  CHECK(frame.cpu == Rights::kNone && frame.adapter == Rights::kNone);
  frame.phase = Frame::Phase::kWriting;
  frame.is_rewritten = false;
  SetLeaving(frame, true);
  ++writes_under_way_;
  ++counters_.writes;
  Do(Verb::kWrite, frame);
}

void Ledger::SetLeaving(Frame& frame, bool is_leaving) {
  if (frame.is_leaving == is_leaving) return;
  frame.is_leaving = is_leaving;
  leaving_ = is_leaving ? leaving_ + 1 : leaving_ - 1;
}

// One granule that an ill store did not take; or, if there is none and somebody waits, one that it
// was not asked to take yet.
void Ledger::RetryWrites() {
  if (health_.is_well() || !health_.MayWrite(writes_under_way_, now_)) return;
  if (!stuck_.empty()) return StartWrite(*stuck_.PopOldest());
  while (wants_.head() != WantTable::kNone && writes_under_way_ == 0) {
    if (!PartSome(1)) return;
  }
}

}  // namespace verbena::paging
