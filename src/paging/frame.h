#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/time.h"

namespace verbena::paging {

class FrameList;

// The largest stamp of a leaving (Eviction); it shares a word with the place of its granule.
inline constexpr uint32_t kStampMax = (1U << 30) - 1;

enum class Rights : uint8_t { kNone, kRead, kWrite };

// What is known about a granule that is in memory, or on its way there. Owned by the GranuleTable.
struct Frame {
  enum class Phase : uint8_t { kReading, kResident, kWriting, kBroken };
  enum class Queue : uint8_t { kSmall, kMain };
  static constexpr uint32_t kNobody = UINT32_MAX;

  uint32_t granule = kNobody;  // kNobody: the frame is free

  uint32_t id = 0;            // in the GranuleTable
  FrameList* list = nullptr;  // the one that it is in
  Frame* older = nullptr;
  Frame* newer = nullptr;
  Time told_at;               // that it is there, last
  uint32_t holds = 0;         // tickets that it must stay for
  uint32_t waiter = kNobody;  // the first ticket that waits for its reading or writing to end
  Phase phase = Phase::kResident;
  Queue queue = Queue::kSmall;  // of the eviction policy, when it is in no other list
  uint8_t uses = 0;             // since it was last considered; saturates
  uint8_t attempts = 0;         // to read it, that have failed
  Rights cpu = Rights::kNone;
  Rights adapter = Rights::kNone;
  bool is_dirty = false;
  bool is_stored = false;     // the store has these contents. Neither dirty nor stored: all zeros
  bool is_rewritten = false;  // since its writing began
  bool is_doomed = false;     // discarded while it was read or written
  bool is_leaving = false;    // written to be dropped: no request pins it, and it is in no list
  bool is_ahead = false;      // read ahead, and not yet wanted
};

// A queue of frames, oldest first, out of whose middle any may be taken. The links are in the
// frames, and a frame is in one list at most. Does not own them. One thread at a time.
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

  // nullptr when there is none.
  Frame* PopOldest() {
    Frame* const frame = oldest_;
    if (frame != nullptr) Remove(*frame);
    return frame;
  }

  // Out of whichever list it is in, if any.
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
