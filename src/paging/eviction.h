#pragma once

#include <cstdint>

#include "paging/frame.h"

namespace verbena::paging {

// Which granule should leave memory next: S3-FIFO (Yang and others, 2023). New granules pass
// through a small queue, a tenth of memory; those used meanwhile go on to the main queue, the
// others leave, so that a scan touches a tenth of memory and no more. Of one that left not long ago
// and comes back, the small queue knew too little: it enters the main queue. There the oldest goes
// round once more for each use, three at most.
//
// Chosen because it needs to hear only that a granule was used, not when or in which order: the
// processor does not tell, and asking it costs a fault. LRU and its relatives need the order, and a
// loop or scan over more than memory empties them.
//
// Which granules left not long ago is told by their stamps: a count of leavings, kept by the
// granule's owner. It needs no queue of its own. Stamps come round after 2^30 leavings; what is
// then mistaken for recent enters the wrong queue, and that is all.
//
// Every operation takes constant time, over many of them, and allocates nothing. Owned by the
// ResidentSet, as the frames are by its GranuleTable; one thread at a time.
class Eviction {
 public:
  // How many granules fit into memory.
  explicit Eviction(uint32_t capacity) { SetCapacity(capacity); }
  void SetCapacity(uint32_t capacity);

  // The queue for a granule that comes into memory, whose stamp is `stamp`; 0: never was there.
  [[nodiscard]] Frame::Queue QueueFor(uint32_t stamp) const;

  // Into the queue that frame.queue names, as the newest.
  void Enter(Frame& frame);
  void Touch(Frame& frame) const {
    if (frame.uses < kUsesMax) ++frame.uses;
  }

  // The one to leave next, taken out of its queue; nullptr when both are empty.
  [[nodiscard]] Frame* TakeVictim();

  // For a granule that leaves memory now.
  [[nodiscard]] uint32_t NextStamp();

  [[nodiscard]] uint32_t size() const { return small_.size() + main_.size(); }

 private:
  static constexpr uint8_t kUsesMax = 3;
  static constexpr uint32_t kSmallShare = 10;

  [[nodiscard]] bool IsSmallDue() const;

  FrameList small_;
  FrameList main_;
  uint32_t small_max_ = 1;
  uint32_t remembered_ = 1;  // leavings
  uint32_t stamp_ = 0;
};

}  // namespace verbena::paging
