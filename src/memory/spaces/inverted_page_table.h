#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "memory/access.h"
#include "memory/address.h"
#include "memory/memory_error.h"
#include "memory/translation/translation_table.h"

namespace verbena::memory {

// One page table for all consumers, indexed by physical frame: its size follows the machine's
// memory and not the sum of the address spaces (row A8). A frame belongs to one page of one
// consumer at most. A hash of (consumer, page) leads to a chain of frames.
//
// Outlives the consumers that use it; one thread at a time.
class InvertedPageTable {
 public:
  // Frames from `base`, which is on a page border.
  InvertedPageTable(PhysicalAddress base, uint32_t frame_count);

  MemoryResult<void> Map(ConsumerId owner, uint64_t page, PhysicalAddress where, bool writable);
  MemoryResult<void> Unmap(ConsumerId owner, uint64_t page);
  PageEntry Find(ConsumerId owner, uint64_t page) const;

  // The frames that overlap [first, last] are gone. Returns how many were mapped.
  uint64_t Invalidate(PhysicalAddress first, PhysicalAddress last);
  void RemoveOwner(ConsumerId owner);

  uint64_t mapped_count() const { return mapped_; }
  bool IsConsistent() const;

 private:
  static constexpr PageShift kPageShift{PageShift::kMin};
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Frame {
    uint64_t page = 0;
    ConsumerId owner;  // none: the frame is free
    uint32_t next = kNone;
    bool writable = false;
  };

  uint32_t& BucketOf(ConsumerId owner, uint64_t page);
  uint32_t FrameOf(ConsumerId owner, uint64_t page) const;
  void Remove(uint32_t frame);

  const PhysicalAddress base_;
  std::vector<Frame> frames_;
  std::vector<uint32_t> buckets_;
  uint64_t mapped_ = 0;
};

}  // namespace verbena::memory
