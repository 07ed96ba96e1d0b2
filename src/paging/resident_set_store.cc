// How a ResidentSet reads from the store, and handles the outcome of reads and writes.

#include <algorithm>

#include "paging/resident_set.h"

namespace verbena::paging {

void ResidentSet::Fetch(uint32_t granule) {
  const Place place = granules_.place(granule);
  const uint32_t stamp = granules_.stamp(granule);
  Frame& frame = granules_.Add(granule);
  frame.queue = eviction_.QueueFor(stamp);
  frame.holds = 1;
  const uint32_t in_memory = granules_.frame_count();
  if (in_memory > shares_.budget) {
    counters_.overrun_peak = std::max(counters_.overrun_peak, in_memory - shares_.budget);
  }
  if (place == Place::kSwapped) return StartRead(frame);
  CHECK(place == Place::kZero);
  ++counters_.zeros;
  Do(Verb::kMakeZero, frame);
}

// Takes only memory that is free or about to be dropped, so no request waits for it.
void ResidentSet::FetchAhead(Run run) {
  if (run.count == 0) return;
  read_ahead_.Cut(StartAhead(run));
}

// Returns the granule at which it stopped.
uint64_t ResidentSet::StartAhead(Run run) {
  if (requests_.head() != RequestTable::kNone || !health_.is_well()) return run.first;
  const uint64_t end = std::min<uint64_t>(run.end(), granule_count());
  uint64_t first = run.first;
  while (first < end && granules_.place(static_cast<uint32_t>(first)) == Place::kInMemory) ++first;
  uint64_t last = first;
  while (last < end && granules_.place(static_cast<uint32_t>(last)) == Place::kSwapped &&
         !IsSwappedOut(last)) {
    ++last;
  }
  const uint32_t more = shares_.ahead_max - std::min(ahead_, shares_.ahead_max);
  const uint64_t count = std::min<uint64_t>(last - first, more);

  DropUnmapped(count);
  uint64_t granule = first;
  for (; granule < first + count && granules_.frame_count() < Limit(); ++granule) {
    Frame& frame = granules_.Add(static_cast<uint32_t>(granule));
    frame.is_ahead = true;
    ++ahead_;
    ++counters_.reads_ahead;
    StartRead(frame);
  }
  return granule;
}

void ResidentSet::StartRead(Frame& frame) {
  frame.phase = Frame::Phase::kReading;
  ++reads_under_way_;
  ++counters_.reads;
  Do(Verb::kRead, frame);
}

void ResidentSet::ReadDone(Run run, ReadOutcome outcome, Time now) {
  now_ = std::max(now_, now);
  for (uint64_t i = run.first; i < run.end(); ++i) {
    Frame* const frame = granules_.Find(static_cast<uint32_t>(i));
    CHECK(frame != nullptr && frame->phase == Frame::Phase::kReading && frame->list != &unread_);
    EndRead(*frame, outcome);
  }
  Balance();
}

void ResidentSet::EndRead(Frame& frame, ReadOutcome outcome) {
  --reads_under_way_;
  if (frame.is_doomed) {
    Forget(frame.granule);
    Zero(frame);
    WakeWaiters(frame);
  } else if (outcome == ReadOutcome::kGood) {
    frame.phase = Frame::Phase::kResident;
    frame.is_stored = true;
    if (frame.holds == 0) eviction_.Enter(frame);
    WakeWaiters(frame);
  } else if (outcome == ReadOutcome::kFailed) {
    OnBadRead(frame);
  } else {
    Break(frame);
  }
}

void ResidentSet::OnBadRead(Frame& frame) {
  ++counters_.read_failures;
  if (frame.holds == 0) {  // no request needs it; the next one tries again
    Do(Verb::kDrop, frame);
    return Remove(frame, Place::kSwapped, 0);
  }
  if (++frame.attempts >= options_.read_attempts) return Break(frame);
  ++reads_under_way_;
  unread_.PushNewest(frame);
  unread_at_ = std::min(unread_at_, now_ + options_.retry_first * frame.attempts);
}

void ResidentSet::RetryReads() {
  unread_at_ = Time::Never();
  while (Frame* const frame = unread_.PopOldest()) {
    --reads_under_way_;
    StartRead(*frame);
  }
}

// The stored copy stays until the program discards the granule: an operator may want to look at it.
void ResidentSet::Break(Frame& frame) {
  ++counters_.broken;
  frame.phase = Frame::Phase::kBroken;
  if (frame.holds > 0) return WakeWaiters(frame);
  Do(Verb::kDrop, frame);
  Remove(frame, Place::kBroken, 0);
}

void ResidentSet::WriteDone(Run run, WriteOutcome outcome, Time now) {
  now_ = std::max(now_, now);
  for (uint64_t i = run.first; i < run.end(); ++i) {
    Frame* const frame = granules_.Find(static_cast<uint32_t>(i));
    CHECK(frame != nullptr && frame->phase == Frame::Phase::kWriting);
    EndWrite(*frame, outcome);
  }
  Balance();
}

void ResidentSet::EndWrite(Frame& frame, WriteOutcome outcome) {
  const bool is_good = outcome == WriteOutcome::kGood;
  const auto report = health_.OnWrite(outcome, now_);
  if (report.has_value()) actions_.Add({.verb = Verb::kReport, .report = *report});
  if (!is_good) ++counters_.write_failures;

  --writes_under_way_;
  const bool was_leaving = frame.is_leaving;
  SetLeaving(frame, false);
  frame.phase = Frame::Phase::kResident;
  const bool is_current = is_good && !frame.is_rewritten && !frame.is_doomed;
  if (is_good && !is_current) Forget(frame.granule);
  frame.is_rewritten = false;
  if (is_current) {
    SetDirty(frame, false);
    frame.is_stored = true;
  }
  if (frame.is_doomed) {
    Zero(frame);
    WakeWaiters(frame);
  } else if (was_leaving) {
    PlaceUnmapped(frame);
  }
}

void ResidentSet::Discard(Run run, Time now) {
  now_ = std::max(now_, now);
  CHECK(run.end() <= granule_count());
  for (uint64_t i = run.first; i < run.end(); ++i) {
    const auto granule = static_cast<uint32_t>(i);
    switch (granules_.place(granule)) {
      case Place::kZero:
        break;
      case Place::kSwapped:
      case Place::kBroken:
        Forget(granule);
        granules_.SetPlace(granule, Place::kZero);
        break;
      case Place::kInMemory:
        DiscardFrame(*granules_.Find(granule));
        break;
    }
  }
  // After all are discarded, because a ticket that waited for one granule can map another.
  for (uint64_t i = run.first; i < run.end(); ++i) {
    Frame* const frame = granules_.Find(static_cast<uint32_t>(i));
    if (frame != nullptr && frame->phase == Frame::Phase::kResident) WakeWaiters(*frame);
  }
  Balance();
}

// Memory that the store reads or writes must stay until the store is done.
void ResidentSet::DiscardFrame(Frame& frame) {
  Unmap(frame);
  const bool is_reading = frame.phase == Frame::Phase::kReading;
  if (frame.phase == Frame::Phase::kWriting || (is_reading && frame.list != &unread_)) {
    frame.is_doomed = true;
    FrameList::Unlink(frame);
    if (!is_reading && frame.holds == 0) SetLeaving(frame, true);
    return;
  }
  if (is_reading) {
    FrameList::Unlink(frame);
    --reads_under_way_;
  }
  if (is_reading || frame.is_stored || frame.phase == Frame::Phase::kBroken) {
    Forget(frame.granule);
  }
  Zero(frame);
}

// The caller wakes the requests that wait for the frame.
void ResidentSet::Zero(Frame& frame) {
  FrameList::Unlink(frame);
  Do(Verb::kDrop, frame);
  SetDirty(frame, false);
  if (frame.holds == 0) return Remove(frame, Place::kZero, 0);
  Do(Verb::kMakeZero, frame);
  frame.phase = Frame::Phase::kResident;
  frame.is_stored = frame.is_doomed = false;
}

void ResidentSet::Remove(Frame& frame, Place place, uint32_t stamp) {
  if (frame.is_ahead) EndAhead(frame, false);
  granules_.Remove(frame, place, stamp);
}

void ResidentSet::EndAhead(Frame& frame, bool is_wanted) {
  frame.is_ahead = false;
  --ahead_;
  ++(is_wanted ? counters_.ahead_hits : counters_.ahead_wastes);
  is_wanted ? read_ahead_.OnHit() : read_ahead_.OnWaste();
}

void ResidentSet::Forget(uint32_t granule) {
  Do(Verb::kForget, Run{granule, 1});
  health_.OnRoom();
}

}  // namespace verbena::paging
