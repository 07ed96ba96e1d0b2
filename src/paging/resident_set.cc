#include "paging/resident_set.h"

#include <algorithm>

namespace verbena::paging {

ResidentSet::ResidentSet(uint32_t granule_count, const ResidentSetOptions& options)
    : options_(options),
      shares_(options.budget),
      granules_(granule_count),
      eviction_(shares_.budget),
      health_(options),
      read_ahead_(options.read_ahead_max),
      requests_(options.tickets_max) {
  CHECK(options.writes_max >= 1 && options.tickets_max >= 1);
}

void ResidentSet::PageIn(Ticket ticket, Run run, Need need, View view, Time now) {
  CHECK(run.count >= 1 && run.end() <= granule_count());
  now_ = std::max(now_, now);
  ++counters_.requests;
  const uint32_t index = requests_.New({.ticket = ticket, .run = run, .need = need, .view = view});
  if (index == RequestTable::kNone) return Refuse(ticket, RequestError::kLimit);

  const Run ahead = read_ahead_.OnRequest(run);
  // Requests that need memory wait in order, and only the first pins granules: a request that pins
  // some and waits for others could hold the memory that those before it wait for.
  const bool is_first = requests_.head() == RequestTable::kNone;
  const bool may_try = is_first || MayPass(run, need);
  if (may_try && Admit(requests_[index])) {
    Advance(index);
  } else {
    if (!is_first) Release(requests_[index]);
    ++counters_.waits;
    requests_.PushLine(index);
  }
  FetchAhead(ahead);
  Balance();
}

void ResidentSet::Used(Run run) {
  CHECK(run.end() <= granule_count());
  for (uint64_t granule = run.first; granule < run.end(); ++granule) {
    Frame* const frame = granules_.Find(static_cast<uint32_t>(granule));
    if (frame != nullptr) eviction_.Touch(*frame);
  }
}

// True if the request needs no memory and makes no granule dirty beyond what MayDirty allows.
bool ResidentSet::MayPass(Run run, Need need) const {
  const uint32_t count = std::min(run.count, shares_.part_max);
  for (uint32_t granule = run.first; granule < run.first + count; ++granule) {
    const Frame* const frame = granules_.Find(granule);
    if (frame == nullptr && granules_.place(granule) != Place::kBroken) return false;
    if (frame != nullptr && need == Need::kWrite && !frame->is_dirty && !MayDirty()) return false;
  }
  return true;
}

void ResidentSet::Serve() {
  while (requests_.head() != RequestTable::kNone) {
    const uint32_t index = requests_.head();
    if (!Admit(requests_[index]) && !AdmitLess(requests_[index])) return;
    requests_.PopLine();
    Advance(index);
  }
}

// Pins granules from the first on, as many as the ticket can have at a time. False if there is no
// memory for the next one, or if it must not become dirty; the ticket keeps those that it has
// pinned.
bool ResidentSet::Admit(RequestRecord& request) {
  for (; request.admitted < std::min(request.run.count, shares_.part_max); ++request.admitted) {
    const uint32_t granule = request.run.first + request.admitted;
    Frame* const frame = granules_.Find(granule);
    if (frame == nullptr && granules_.place(granule) == Place::kBroken) break;
    const bool dirties = request.need == Need::kWrite && (frame == nullptr || !frame->is_dirty);
    if (dirties && !MayDirty()) return false;
    if (frame != nullptr) {
      ++counters_.hits;
      Pin(*frame);
    } else if (granules_.frame_count() < Limit() || MakeRoom(CountMissing(request))) {
      Fetch(granule);
    } else {
      return false;
    }
    // Counted before the granule is dirty, because a ticket can take long.
    request.pledged += dirties ? 1 : 0;
    pledged_ += dirties ? 1 : 0;
  }
  request.run.count = request.admitted;
  return true;
}

void ResidentSet::Release(RequestRecord& request) {
  for (uint32_t i = 0; i < request.admitted; ++i) Unpin(*granules_.Find(request.run.first + i));
  pledged_ -= request.pledged;
  request.admitted = request.pledged = 0;
}

uint32_t ResidentSet::CountMissing(const RequestRecord& request) const {
  uint32_t missing = 0;
  const uint32_t end = request.run.first + std::min(request.run.count, shares_.part_max);
  for (uint32_t granule = request.run.first + request.admitted; granule < end; ++granule) {
    missing += granules_.place(granule) != Place::kInMemory ? 1 : 0;
  }
  return missing;
}

// There is no memory for the first waiting request. As long as a read or write is in flight, there
// will be: every read lets a ticket end, every write lets a granule be dropped. When none is in
// flight, granules stay no longer than their minimum residency. Then the ticket gets what it has
// pinned. If that is nothing, it waits for the store until the store is hopeless. True if the
// request no longer waits for memory.
bool ResidentSet::AdmitLess(RequestRecord& request) {
  if (reads_under_way_ + writes_under_way_ > 0) return false;
  EndMinResidency(0);
  if (Admit(request)) return true;
  RetryWrites();
  if (reads_under_way_ + writes_under_way_ > 0) return false;
  if (request.admitted == 0) {
    if (!min_residency_.empty()) return false;
    CHECK(!health_.is_well());
    if (!health_.IsHopeless(now_)) return false;
  }
  request.run.count = request.admitted;
  return true;
}

// The number of granules of `request` that are in memory, from the first on. REQUIRES: those before
// `from` are.
uint32_t ResidentSet::CountThere(const RequestRecord& request, uint32_t from) const {
  uint32_t there = from;
  for (; there < request.run.count; ++there) {
    const Frame* const frame = granules_.Find(request.run.first + there);
    CHECK(frame != nullptr && frame->holds > 0);
    const bool is_there =
        frame->phase == Frame::Phase::kResident || frame->phase == Frame::Phase::kWriting;
    if (!is_there || frame->is_doomed) break;
  }
  return there;
}

// A request waits for one granule at a time, the first that is not in memory.
void ResidentSet::Advance(uint32_t index) {
  RequestRecord& request = requests_[index];
  request.ready = CountThere(request, request.ready);
  // Some can have been discarded after they were counted.
  if (request.ready == request.run.count) request.ready = CountThere(request, 0);
  if (request.ready < request.run.count) {
    Frame& frame = *granules_.Find(request.run.first + request.ready);
    if (frame.phase != Frame::Phase::kBroken) {
      request.next = frame.waiter;
      frame.waiter = index;
      return;
    }
  }
  Finish(index);
}

void ResidentSet::WakeWaiters(Frame& frame) {
  uint32_t index = frame.waiter;
  frame.waiter = Frame::kNone;
  while (index != Frame::kNone) {
    const uint32_t next = requests_[index].next;
    Advance(index);
    index = next;
  }
}

void ResidentSet::Finish(uint32_t index) {
  RequestRecord request = requests_[index];
  requests_.Delete(index);
  for (uint32_t i = 0; i < request.ready; ++i) {
    MapFor(request, *granules_.Find(request.run.first + i));
  }
  if (request.ready > 0) {
    actions_.Add({.verb = Verb::kReady,
                  .run = {request.run.first, request.ready},
                  .ticket = request.ticket});
  } else {
    const bool is_broken =
        request.admitted > 0 || granules_.place(request.run.first) == Place::kBroken;
    Refuse(request.ticket, is_broken ? RequestError::kBroken : RequestError::kLimit);
  }
  Release(request);
}

void ResidentSet::Refuse(Ticket ticket, RequestError error) {
  ++(error == RequestError::kBroken ? counters_.refused_broken : counters_.refused_limit);
  actions_.Add({.verb = Verb::kRefused, .ticket = ticket, .error = error});
}

// A dirty granule is mapped writable even for a reader, so that the reader needs no second request
// to write it. Not while the granule is being written to the store: its contents must not change
// then.
void ResidentSet::MapFor(const RequestRecord& request, Frame& frame) {
  if (request.need == Need::kWrite) {
    SetDirty(frame, true);
    frame.is_rewritten = frame.phase == Frame::Phase::kWriting;
  }
  const bool is_writable =
      frame.is_dirty && (frame.phase != Frame::Phase::kWriting || frame.is_rewritten);
  actions_.Add({.verb = Verb::kMap,
                .run = {frame.granule, 1},
                .view = request.view,
                .is_writable = is_writable});
  (request.view == View::kCpu ? frame.cpu : frame.adapter) =
      is_writable ? Rights::kWrite : Rights::kRead;
}

void ResidentSet::Pin(Frame& frame) {
  if (!frame.is_ahead) eviction_.Touch(frame);
  if (frame.is_ahead) EndAhead(frame, true);
  if (frame.holds++ > 0) return;
  if (frame.is_leaving || frame.list == &unmapped_ || frame.list == &stuck_) {
    ++counters_.rescued;
    frame.queue = Frame::Queue::kMain;
    SetLeaving(frame, false);
  }
  if (frame.list != &unread_) FrameList::Unlink(frame);
}

// The last unpin starts the minimum residency of the granule: the requester needs time to use it.
void ResidentSet::Unpin(Frame& frame) {
  CHECK(frame.holds > 0);
  // Here, after the ticket is answered, because no request waits for this.
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
  frame.answered_at = now_;
  min_residency_.PushNewest(frame);
}

Time ResidentSet::next_time() const {
  Time next = unread_at_;
  const bool has_line = requests_.head() != RequestTable::kNone;
  const bool has_unwritten = !stuck_.empty() || (has_line && eviction_.size() > 0);
  if (writes_under_way_ == 0 && has_unwritten) next = std::min(next, health_.retry_at());
  for (const SwapOutRecord& swap_out : swap_outs_) {
    if (swap_out.has_ended || swap_out.left == swap_out.run.end()) continue;
    const Frame* const frame = granules_.Find(static_cast<uint32_t>(swap_out.left));
    if (frame == nullptr || frame->list != &min_residency_) continue;
    const Time end = frame->answered_at + options_.min_residency;
    if (end > now_) next = std::min(next, end);
  }
  const bool is_standing = has_line && reads_under_way_ + writes_under_way_ == 0;
  if (has_line || granules_.frame_count() > Limit()) {
    const uint32_t kept = is_standing ? 0 : shares_.min_residency_floor;
    if (min_residency_.size() > kept) next = std::min(next, MinResidencyEnd());
  }
  return is_standing && min_residency_.empty() ? std::min(next, health_.hopeless_at()) : next;
}

// When the minimum residency of the first granule in the list ends.
Time ResidentSet::MinResidencyEnd() const {
  return min_residency_.oldest()->answered_at + options_.min_residency;
}

void ResidentSet::OnTime(Time now) {
  now_ = std::max(now_, now);
  if (now_ >= unread_at_) RetryReads();
  Balance();
}

}  // namespace verbena::paging
