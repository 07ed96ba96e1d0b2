#pragma once

#include <cstdint>

#include "paging/frame.h"

namespace verbena::paging {

// Decides which granule to evict next: S3-FIFO (Yang and others, 2023). New granules pass through a
// small queue, a tenth of memory. Those that are used meanwhile move to the main queue, the others
// are evicted; so a scan displaces a tenth of memory at most. A granule that is requested again
// soon after its eviction enters the main queue directly, because the small queue evicted it too
// early. In the main queue the oldest granule moves to the end once for each use, three times at
// most.
//
// S3-FIFO needs to know only that a granule was used, not when or in which order: the processor
// does not report that, and finding out costs a fault. LRU and its relatives need the order, and a
// loop or scan over more than memory flushes them.
//
// A stamp is the count of evictions when a granule was evicted, kept in the GranuleTable, so no
// ghost queue is needed. Stamps wrap after 2^30 evictions. A granule that is then mistaken for a
// recent one enters the wrong queue, with no other effect.
//
// Every operation takes amortized constant time and allocates nothing. Owned by the ResidentSet;
// its GranuleTable owns the frames. One thread at a time.
class Eviction {
 public:
  // `capacity`: how many granules fit into memory.
  explicit Eviction(uint32_t capacity) { SetCapacity(capacity); }
  void SetCapacity(uint32_t capacity);

  // The queue for a granule that comes into memory with this stamp; 0: it was never in memory.
  [[nodiscard]] Frame::Queue QueueFor(uint32_t stamp) const;

  // Adds the frame to the queue that frame.queue names, as the newest.
  void Enter(Frame& frame);
  void Touch(Frame& frame) const {
    if (frame.uses < kUsesMax) ++frame.uses;
  }

  // Removes the frame to evict next from its queue and returns it; nullptr when both queues are
  // empty.
  [[nodiscard]] Frame* TakeVictim();

  // The stamp for a granule that is being evicted.
  [[nodiscard]] uint32_t NextStamp();

  [[nodiscard]] uint32_t size() const { return small_.size() + main_.size(); }

 private:
  static constexpr uint8_t kUsesMax = 3;
  static constexpr uint32_t kSmallShare = 10;

  [[nodiscard]] bool IsSmallDue() const;

  FrameList small_;
  FrameList main_;
  uint32_t small_max_ = 1;
  uint32_t remembered_ = 1;  // evictions
  uint32_t stamp_ = 0;
};

}  // namespace verbena::paging
