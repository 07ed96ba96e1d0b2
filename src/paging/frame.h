#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/time.h"

namespace verbena::paging {

class FrameList;

// The largest stamp of an eviction (Eviction); a stamp shares a word with the place of its granule.
inline constexpr uint32_t kStampMax = (1U << 30) - 1;

enum class Rights : uint8_t { kNone, kRead, kWrite };

// The state of a granule that is in memory or being read. Owned by the GranuleTable.
struct Frame {
  enum class Phase : uint8_t { kReading, kResident, kWriting, kBroken };
  enum class Queue : uint8_t { kSmall, kMain };
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t granule = kNone;  // kNone: the frame is free

  uint32_t id = 0;            // index in the GranuleTable
  FrameList* list = nullptr;  // the list that the frame is in
  Frame* older = nullptr;
  Frame* newer = nullptr;
  Time answered_at;         // when a ticket was last answered with it
  uint32_t holds = 0;       // pins: tickets that need it in memory
  uint32_t waiter = kNone;  // the first ticket that waits for the read or write to end
  Phase phase = Phase::kResident;
  Queue queue = Queue::kSmall;  // of the eviction policy, when in no other list
  uint8_t uses = 0;             // since Eviction last considered it; saturates
  uint8_t attempts = 0;         // failed attempts to read it
  Rights cpu = Rights::kNone;
  Rights adapter = Rights::kNone;
  bool is_dirty = false;
  bool is_stored = false;     // the store has these contents. Neither dirty nor stored: all zeros
  bool is_rewritten = false;  // made dirty again since its write began
  bool is_doomed = false;     // discarded while being read or written
  bool is_leaving = false;    // being written to be dropped: no request pins it, it is in no list
  bool is_ahead = false;      // read ahead, and not yet requested
};

// A queue of frames, oldest first, from which any frame can be removed. The links are in the
// frames, and a frame is in one list at most. Does not own the frames. One thread at a time.
class FrameList {
 public:
  FrameList() = default;
  FrameList(const FrameList&) = delete;
  FrameList& operator=(const FrameList&) = delete;

  void PushNewest(Frame& frame) {
    CHECK(frame.list == nullptr);
    frame.list = this;
    frame.older = newest_;
    frame.newer = nullptr;
    (newest_ != nullptr ? newest_->newer : oldest_) = &frame;
    newest_ = &frame;
    ++size_;
  }

  // nullptr when the list is empty.
  Frame* PopOldest() {
    Frame* const frame = oldest_;
    if (frame != nullptr) Remove(*frame);
    return frame;
  }

  // Removes the frame from the list that it is in, if any.
  static void Unlink(Frame& frame) {
    if (frame.list != nullptr) frame.list->Remove(frame);
  }

  [[nodiscard]] Frame* oldest() const { return oldest_; }
  [[nodiscard]] uint32_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  void Remove(Frame& frame) {
    DCHECK(frame.list == this);
    (frame.newer != nullptr ? frame.newer->older : newest_) = frame.older;
    (frame.older != nullptr ? frame.older->newer : oldest_) = frame.newer;
    frame.list = nullptr;
    frame.older = frame.newer = nullptr;
    --size_;
  }

  Frame* oldest_ = nullptr;
  Frame* newest_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace verbena::paging
