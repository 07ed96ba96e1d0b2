// How a ResidentSet swaps out a run of granules at its owner's request: each granule is unmapped,
// written if it is dirty, and dropped.

#include <algorithm>

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

// If the store fails, the swap-out ends early: granules that cannot be written stay in memory.
void ResidentSet::ContinueSwapOuts() {
  std::erase_if(swap_outs_, [this](SwapOutRecord& swap_out) {
    DropLeft(swap_out);
    // Repeats until it waits for a write, a read or a request, whose end continues it: no other
    // input may follow.
    uint64_t before = 0;
    do {
      before = swap_out.left;
      StartLeaving(swap_out);
      DropLeft(swap_out);
    } while (swap_out.left > before);
    if (swap_out.left < swap_out.run.end() && health_.is_well()) return false;
    // An earlier request may have paged in a granule again after it left.
    uint32_t count = 0;
    for (uint64_t i = swap_out.run.first; i < swap_out.left; ++i) {
      count += granules_.Find(static_cast<uint32_t>(i)) == nullptr ? 1 : 0;
    }
    actions_.Add(
        {.verb = Verb::kSwappedOut, .run = {swap_out.run.first, count}, .ticket = swap_out.ticket});
    return true;
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
  if (writes_under_way_ > options_.writes_max / 2) return;
  FrameList leaving;
  const uint32_t most = options_.writes_max - std::min(options_.writes_max, writes_under_way_);
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
