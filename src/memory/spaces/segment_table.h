#pragma once

#include <cstdint>
#include <optional>

#include "base/interval_map.h"
#include "memory/access.h"
#include "memory/address.h"
#include "memory/memory_error.h"
#include "memory/spaces/guest_key.h"

namespace verbena::memory {

// A stretch of a process's memory: effective addresses from `start` are the virtual addresses from
// `base`. Of the rights only local read and local write mean anything here: what the process may
// do. With a guest, `base` counts in the guest's memory, and the second stage takes the place of
// the page table.
struct Segment {
  EffectiveAddress start;
  uint64_t length = 0;
  VirtualAddress base;
  Access rights;
  GuestKey guest = kHost;
};

enum class SegmentChange : uint8_t {
  kAdd,     // where nothing was
  kDelete,  // what lies in [start, start + length); segments that stick out are cut
  kModify,  // where segments were, without a gap
};

// Effective -> virtual addresses of one process, and what the process itself may do there (row A7).
// Copied from the operating system's when a consumer is opened, and kept current by updates.
//
// One thread at a time.
class SegmentTable {
 public:
  // The SegmentTableUpdate verb.
  MemoryResult<void> Update(SegmentChange change, const Segment& segment);

  struct Place {
    VirtualAddress address;
    uint64_t left;  // bytes to the end of the segment, from here
    Access rights;
    GuestKey guest;
  };
  std::optional<Place> Find(EffectiveAddress address) const;

  // How many of `length` bytes from `address` on come before the next segment. REQUIRES: no segment
  // is at `address`.
  uint64_t LengthOutside(EffectiveAddress address, uint64_t length) const;

  // True when every byte lies in a segment and each grants `needed`.
  bool MayAccess(EffectiveAddress start, uint64_t length, Access needed) const;

  uint64_t size() const { return segments_.size(); }
  bool IsConsistent() const { return segments_.IsConsistent(); }

 private:
  struct Target {
    VirtualAddress base;
    Access rights;
    GuestKey guest;
  };

  IntervalMap<Target> segments_;
};

}  // namespace verbena::memory
