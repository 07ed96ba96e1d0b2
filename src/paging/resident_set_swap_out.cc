// How a ResidentSet swaps out a run of granules at its owner's request: each granule is unmapped,
// written if it is dirty, and dropped.

#include <algorithm>
#include <utility>

#include "paging/resident_set.h"

namespace verbena::paging {
namespace {

// False for a granule that a request pins, that is being read, or that is already leaving.
bool MayLeave(const Frame& frame) {
  return frame.holds == 0 && !frame.is_leaving && frame.phase != Frame::Phase::kReading;
}

}  // namespace

void ResidentSet::SwapOut(Ticket ticket, Run run, Time now) {
  now_ = std::max(now_, now);
  CHECK(run.count >= 1 && run.end() <= granule_count());
  swap_outs_.push_back({.ticket = ticket, .run = run, .started = run.first, .left = run.first});
  Balance();
}

void ResidentSet::SwapIn(Ticket ticket, Time now) {
  now_ = std::max(now_, now);
  std::erase_if(swap_outs_, [&](SwapOutRecord& swap_out) {
    if (swap_out.ticket != ticket) return false;
    if (!swap_out.has_ended) End(swap_out);
    return true;
  });
  Balance();
}

void ResidentSet::ContinueSwapOuts() {
  for (SwapOutRecord& swap_out : swap_outs_) {
    if (!swap_out.has_ended) Continue(swap_out);
  }
}

// Until it waits for a write, a read or a request, whose end continues it: no other input may come.
void ResidentSet::Continue(SwapOutRecord& swap_out) {
  DropLeft(swap_out);
  uint64_t before = 0;
  do {
    before = swap_out.left;
    StartLeaving(swap_out);
    DropLeft(swap_out);
  } while (swap_out.left > before || IsToBeRepeated(swap_out));
  // A store that takes nothing ends it early: what cannot be written stays in memory.
  const bool has_left = swap_out.left == swap_out.run.end() && !swap_out.is_delayed;
  if (has_left || !health_.is_well()) End(swap_out);
}

// A request of the adapter that waits for memory was made before the swap-out, and will be served.
// What it brings back has to leave again.
bool ResidentSet::IsToBeRepeated(SwapOutRecord& swap_out) {
  if (swap_out.left < swap_out.run.end()) return false;
  const bool was_delayed = std::exchange(swap_out.is_delayed, IsInLine(swap_out.run));
  if (!was_delayed || swap_out.is_delayed) return false;
  swap_out.started = swap_out.left = swap_out.run.first;
  return true;
}

// Whether a request of the adapter that waits for memory wants a granule of the run.
bool ResidentSet::IsInLine(Run run) {
  for (uint32_t i = requests_.head(); i != RequestTable::kNone; i = requests_[i].next) {
    const RequestRecord& request = requests_[i];
    const bool overlaps = request.run.first < run.end() && run.first < request.run.end();
    if (request.view == View::kAdapter && overlaps) return true;
  }
  return false;
}

void ResidentSet::End(SwapOutRecord& swap_out) {
  // A request that began before may have brought back what had left.
  uint32_t count = 0;
  for (uint64_t i = swap_out.run.first; i < swap_out.left; ++i) {
    count += granules_.Find(static_cast<uint32_t>(i)) == nullptr ? 1 : 0;
  }
  actions_.Add(
      {.verb = Verb::kSwappedOut, .run = {swap_out.run.first, count}, .ticket = swap_out.ticket});
  swap_out.has_ended = true;
}

bool ResidentSet::IsSwappedOut(uint64_t granule) const {
  return std::ranges::any_of(swap_outs_, [&](const SwapOutRecord& swap_out) {
    return swap_out.run.first <= granule && granule < swap_out.run.end();
  });
}

// Counts each granule once, when it is out of memory: a later request may page it in again.
void ResidentSet::DropLeft(SwapOutRecord& swap_out) {
  for (; swap_out.left < swap_out.run.end(); ++swap_out.left) {
    Frame* const frame = granules_.Find(static_cast<uint32_t>(swap_out.left));
    if (frame == nullptr) continue;
    if (frame->list != &unmapped_) {
      // A request pinned the granule when its turn came, or paged it in again. It leaves only after
      // its minimum residency: otherwise a thread that needs it would fault for ever. See
      // next_time.
      const bool is_over =
          frame->list != &min_residency_ || frame->answered_at + options_.min_residency <= now_;
      if (MayLeave(*frame) && is_over) {
        swap_out.started = std::min(swap_out.started, swap_out.left);
      }
      return;
    }
    FrameList::Unlink(*frame);
    DropFrame(*frame);
  }
}

// Unmaps as many granules as the store may write at a time before the first of them is written, so
// that neighbours become one action; and in batches instead of one for each write that ends.
void ResidentSet::StartLeaving(SwapOutRecord& swap_out) {
  if (writes_under_way_ > options_.swap_out_max / 2) return;
  FrameList leaving;
  const uint32_t most = options_.swap_out_max - writes_under_way_;
  for (; swap_out.started < swap_out.run.end() && leaving.size() < most; ++swap_out.started) {
    Frame* const frame = granules_.Find(static_cast<uint32_t>(swap_out.started));
    if (frame == nullptr || !MayLeave(*frame) || frame->list == &unmapped_) continue;
    const bool is_in_use =
        frame->list == &min_residency_ && now_ < frame->answered_at + options_.min_residency;
    if (is_in_use) continue;
    FrameList::Unlink(*frame);
    Unmap(*frame);
    leaving.PushNewest(*frame);
  }
  counters_.unmapped += leaving.size();
  while (Frame* const frame = leaving.PopOldest()) PlaceUnmapped(*frame);
}

}  // namespace verbena::paging
