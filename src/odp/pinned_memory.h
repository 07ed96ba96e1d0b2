#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/error.h"
#include "base/interval_map.h"
#include "base/mutex.h"
#include "verbena/numbers.h"

namespace verbena::odp {

// Memory of this process that is locked at the user's request: paged in when its region is
// registered, and locked until the last region on it is deregistered. mlock does not count, so
// overlapping regions are counted here, page by page.
//
// Thread rule: any thread. Takes its own lock and no other, since locking memory takes as long as
// paging it in.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // Pages in and locks these bytes. After a failure nothing has changed.
  [[nodiscard]] ErrorOr<void> Pin(uint64_t address, uint64_t length) VERBENA_EXCLUDES(mutex_);
  void Unpin(uint64_t address, uint64_t length) VERBENA_EXCLUDES(mutex_);

  // Records that the pinned bytes belong to this region.
  void Attach(uint64_t address, uint64_t length, Key region) VERBENA_EXCLUDES(mutex_);
  // Unpins the bytes of the region, if it has any.
  void Release(Key region) VERBENA_EXCLUDES(mutex_);
  // The region's key has changed.
  void Rekey(Key from, Key to) VERBENA_EXCLUDES(mutex_);

  [[nodiscard]] uint64_t region_count() const VERBENA_EXCLUDES(mutex_);

 private:
  void Count(Interval pages, bool one_more) VERBENA_REQUIRES(mutex_);
  void Discount(Interval pages) VERBENA_REQUIRES(mutex_);

  mutable Mutex mutex_;
  IntervalMap<uint32_t> counts_ VERBENA_GUARDED_BY(mutex_);  // of bytes, on page borders
  // By index: a region has two keys.
  std::unordered_map<uint32_t, Interval> regions_ VERBENA_GUARDED_BY(mutex_);
};

}  // namespace verbena::odp
