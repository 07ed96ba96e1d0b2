#include "paging/eviction.h"

#include <algorithm>

namespace verbena::paging {

void Eviction::SetCapacity(uint32_t capacity) {
  small_max_ = std::max(1U, capacity / kSmallShare);
  remembered_ = std::max(1U, capacity);
}

Frame::Queue Eviction::QueueFor(uint32_t stamp) const {
  if (stamp == 0) return Frame::Queue::kSmall;
  const uint32_t age = stamp_ >= stamp ? stamp_ - stamp : stamp_ + kStampMax - stamp;
  return age < remembered_ ? Frame::Queue::kMain : Frame::Queue::kSmall;
}

void Eviction::Enter(Frame& frame) {
  (frame.queue == Frame::Queue::kSmall ? small_ : main_).PushNewest(frame);
}

bool Eviction::IsSmallDue() const {
  return !small_.empty() && (small_.size() > small_max_ || main_.empty());
}

// Terminates: each step either takes a use away, of which a frame has three at most, or returns.
Frame* Eviction::TakeVictim() {
  while (true) {
    const bool is_small = IsSmallDue();
    Frame* const frame = (is_small ? small_ : main_).PopOldest();
    if (frame == nullptr || frame->uses == 0) return frame;
    frame->uses = is_small ? uint8_t{0} : static_cast<uint8_t>(frame->uses - 1);
    frame->queue = Frame::Queue::kMain;
    main_.PushNewest(*frame);
  }
}

uint32_t Eviction::NextStamp() { return stamp_ = stamp_ == kStampMax ? 1 : stamp_ + 1; }

}  // namespace verbena::paging
