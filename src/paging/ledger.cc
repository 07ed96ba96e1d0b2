#include "paging/ledger.h"

#include <algorithm>

namespace verbena::paging {

Ledger::Ledger(uint32_t granule_count, const Options& options)
    : options_(options),
      shares_(options.budget),
      granules_(granule_count),
      eviction_(shares_.budget),
      health_(options),
      read_ahead_(options.read_ahead_max),
      wants_(options.tickets_max) {
  CHECK(options.writes_max >= 1 && options.tickets_max >= 1);
}

void Ledger::Want(Ticket ticket, Run run, Need need, View view, Time now) {
  CHECK(run.count >= 1 && run.end() <= granule_count());
  now_ = std::max(now_, now);
  ++counters_.wants;
  const uint32_t index = wants_.New({.ticket = ticket, .run = run, .need = need, .view = view});
  if (index == WantTable::kNone) return Refuse(ticket, Refusal::kLimit);

  const Run ahead = read_ahead_.OnWant(run);
  // Those who need memory stand in line, and only the first in line holds anything: who held and
  // waited behind others could keep from them what they wait for.
  const bool is_first = wants_.head() == WantTable::kNone;
  const bool may_try = is_first || MayPass(run, need);
  if (may_try && Admit(wants_[index])) {
    Advance(index);
  } else {
    if (!is_first) Release(wants_[index]);
    ++counters_.waits;
    wants_.PushLine(index);
  }
  BringAhead(ahead);
  Balance();
}

void Ledger::Used(Run run) {
  CHECK(run.end() <= granule_count());
  for (uint64_t granule = run.first; granule < run.end(); ++granule) {
    Frame* const frame = granules_.Find(static_cast<uint32_t>(granule));
    if (frame != nullptr) eviction_.Touch(*frame);
  }
}

// True if it needs no memory, and dirties nothing that may not be dirty.
bool Ledger::MayPass(Run run, Need need) const {
  const uint32_t count = std::min(run.count, shares_.part_max);
  for (uint32_t granule = run.first; granule < run.first + count; ++granule) {
    const Frame* const frame = granules_.Find(granule);
    if (frame == nullptr && granules_.place(granule) != Place::kBroken) return false;
    if (frame != nullptr && need == Need::kWrite && !frame->is_dirty && !MayDirty()) return false;
  }
  return true;
}

void Ledger::Serve() {
  while (wants_.head() != WantTable::kNone) {
    const uint32_t index = wants_.head();
    if (!Admit(wants_[index]) && !AdmitLess(wants_[index])) return;
    wants_.PopLine();
    Advance(index);
  }
}

// Holds granules from the first on, as far as the ticket is to be served now. False: no memory for
// the next one, or it may not be dirty; what the ticket has it keeps.
bool Ledger::Admit(WantRecord& want) {
  for (; want.admitted < std::min(want.run.count, shares_.part_max); ++want.admitted) {
    const uint32_t granule = want.run.first + want.admitted;
    Frame* const frame = granules_.Find(granule);
    if (frame == nullptr && granules_.place(granule) == Place::kBroken) break;
    const bool dirties = want.need == Need::kWrite && (frame == nullptr || !frame->is_dirty);
    if (dirties && !MayDirty()) return false;
    if (frame != nullptr) {
      ++counters_.hits;
      Hold(*frame);
    } else if (granules_.frame_count() < Limit() || MakeRoom(CountMissing(want))) {
      Bring(granule);
    } else {
      return false;
    }
    // Said before it is done, because a ticket may take long.
    want.pledged += dirties ? 1 : 0;
    pledged_ += dirties ? 1 : 0;
  }
  want.run.count = want.admitted;
  return true;
}

void Ledger::Release(WantRecord& want) {
  for (uint32_t i = 0; i < want.admitted; ++i) Unhold(*granules_.Find(want.run.first + i));
  pledged_ -= want.pledged;
  want.admitted = want.pledged = 0;
}

uint32_t Ledger::CountMissing(const WantRecord& want) const {
  uint32_t missing = 0;
  const uint32_t end = want.run.first + std::min(want.run.count, shares_.part_max);
  for (uint32_t granule = want.run.first + want.admitted; granule < end; ++granule) {
    missing += granules_.place(granule) != Place::kInMemory ? 1 : 0;
  }
  return missing;
}

// There is no memory for the first in line. As long as something is read or written, there will be:
// every reading lets a ticket end, every writing a granule go. When nothing is, grace lasts no
// longer than it must; and then the ticket gets what it has, or, if that is nothing, waits for the
// store, but not for ever. True if it leaves the line.
bool Ledger::AdmitLess(WantRecord& want) {
  if (reads_under_way_ + writes_under_way_ > 0) return false;
  EndGrace(0);
  if (Admit(want)) return true;
  RetryWrites();
  if (reads_under_way_ + writes_under_way_ > 0) return false;
  if (want.admitted == 0) {
    if (!grace_.empty()) return false;
    CHECK(!health_.is_well());
    if (!health_.IsHopeless(now_)) return false;
  }
  want.run.count = want.admitted;
  return true;
}

// How many granules of `want` are there, from the first on, if those before `from` are.
uint32_t Ledger::CountThere(const WantRecord& want, uint32_t from) const {
  uint32_t there = from;
  for (; there < want.run.count; ++there) {
    const Frame* const frame = granules_.Find(want.run.first + there);
    CHECK(frame != nullptr && frame->holds > 0);
    const bool is_there =
        frame->phase == Frame::Phase::kResident || frame->phase == Frame::Phase::kWriting;
    if (!is_there || frame->is_doomed) break;
  }
  return there;
}

// It waits for one granule at a time, the first that is not there.
void Ledger::Advance(uint32_t index) {
  WantRecord& want = wants_[index];
  want.ready = CountThere(want, want.ready);
  // Some may have been discarded after they were counted.
  if (want.ready == want.run.count) want.ready = CountThere(want, 0);
  if (want.ready < want.run.count) {
    Frame& frame = *granules_.Find(want.run.first + want.ready);
    if (frame.phase != Frame::Phase::kBroken) {
      want.next = frame.waiter;
      frame.waiter = index;
      return;
    }
  }
  Finish(index);
}

void Ledger::WakeWaiters(Frame& frame) {
  uint32_t index = frame.waiter;
  frame.waiter = Frame::kNobody;
  while (index != Frame::kNobody) {
    const uint32_t next = wants_[index].next;
    Advance(index);
    index = next;
  }
}

void Ledger::Finish(uint32_t index) {
  WantRecord want = wants_[index];
  wants_.Delete(index);
  for (uint32_t i = 0; i < want.ready; ++i) {
    MapFor(want, *granules_.Find(want.run.first + i));
  }
  if (want.ready > 0) {
    actions_.Add(
        {.verb = Verb::kReady, .run = {want.run.first, want.ready}, .ticket = want.ticket});
  } else {
    const bool is_broken = want.admitted > 0 || granules_.place(want.run.first) == Place::kBroken;
    Refuse(want.ticket, is_broken ? Refusal::kBroken : Refusal::kLimit);
  }
  Release(want);
}

void Ledger::Refuse(Ticket ticket, Refusal refusal) {
  ++(refusal == Refusal::kBroken ? counters_.refused_broken : counters_.refused_limit);
  actions_.Add({.verb = Verb::kRefused, .ticket = ticket, .refusal = refusal});
}

// A granule that is dirty anyway is mapped writable for a reader, too, so that it does not have to
// ask again; but not while it is written, because its contents must not change then.
void Ledger::MapFor(const WantRecord& want, Frame& frame) {
  if (want.need == Need::kWrite) {
    SetDirty(frame, true);
    frame.is_rewritten = frame.phase == Frame::Phase::kWriting;
  }
  const bool is_writable =
      frame.is_dirty && (frame.phase != Frame::Phase::kWriting || frame.is_rewritten);
  actions_.Add({.verb = Verb::kMap,
                .run = {frame.granule, 1},
                .view = want.view,
                .is_writable = is_writable});
  (want.view == View::kCpu ? frame.cpu : frame.adapter) =
      is_writable ? Rights::kWrite : Rights::kRead;
}

void Ledger::Hold(Frame& frame) {
  if (!frame.is_ahead) eviction_.Touch(frame);
  if (frame.is_ahead) EndAhead(frame, true);
  if (frame.holds++ > 0) return;
  if (frame.is_leaving || frame.list == &parted_ || frame.list == &stuck_) {
    ++counters_.rescued;
    frame.queue = Frame::Queue::kMain;
    SetLeaving(frame, false);
  }
  if (frame.list != &unread_) FrameList::Unlink(frame);
}

// The last to let it go leaves it in grace: whoever was told about it needs time to use it.
void Ledger::Unhold(Frame& frame) {
  CHECK(frame.holds > 0);
  // Not before the ticket is told: nobody waits for this.
  if (frame.is_dirty && frame.is_stored) {
    frame.is_stored = false;
    Forget(frame.granule);
  }
  if (--frame.holds > 0) return;
  switch (frame.phase) {
    case Frame::Phase::kBroken:
      Do(Verb::kDrop, frame);
      return Remove(frame, Place::kBroken, 0);
    case Frame::Phase::kReading:
      return;
    case Frame::Phase::kWriting:
      if (frame.is_doomed) return SetLeaving(frame, true);
      break;
    case Frame::Phase::kResident:
      break;
  }
  frame.told_at = now_;
  grace_.PushNewest(frame);
}

Time Ledger::next_time() const {
  Time next = unread_at_;
  const bool has_line = wants_.head() != WantTable::kNone;
  const bool has_unwritten = !stuck_.empty() || (has_line && eviction_.size() > 0);
  if (writes_under_way_ == 0 && has_unwritten) next = std::min(next, health_.retry_at());
  const bool is_standing = has_line && reads_under_way_ + writes_under_way_ == 0;
  if (has_line || granules_.frame_count() > Limit()) {
    const uint32_t kept = is_standing ? 0 : shares_.grace_min;
    if (grace_.size() > kept) next = std::min(next, GraceEnd());
  }
  return is_standing && grace_.empty() ? std::min(next, health_.hopeless_at()) : next;
}

// Of the first in grace.
Time Ledger::GraceEnd() const { return grace_.oldest()->told_at + options_.grace; }

void Ledger::OnTime(Time now) {
  now_ = std::max(now_, now);
  if (now_ >= unread_at_) RetryReads();
  Balance();
}

}  // namespace verbena::paging
