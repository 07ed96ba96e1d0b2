#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/error.h"
#include "base/interval_map.h"
#include "base/mutex.h"
#include "verbena/numbers.h"

namespace verbena::odp {

// Memory of this process that is locked, because the user asked for it: brought when its region is
// registered, and kept until the last region over it is gone. The system's own lock does not count,
// so regions that overlap are counted here, page by page.
//
// Thread rule: any thread. Has a lock of its own, since locking memory takes as long as bringing
// it; it takes no other.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // Brings and locks the pages of these bytes. Fails with the reason, and then nothing has changed.
  [[nodiscard]] ErrorOr<void> Pin(uint64_t address, uint64_t length) VERBENA_EXCLUDES(mutex_);
  void Unpin(uint64_t address, uint64_t length) VERBENA_EXCLUDES(mutex_);

  // The bytes, which are pinned, are those of this region: a word to find them by.
  void Attach(uint64_t address, uint64_t length, Key region) VERBENA_EXCLUDES(mutex_);
  // Unpins what belongs to the region, if anything does.
  void Release(Key region) VERBENA_EXCLUDES(mutex_);
  // What belonged to one is the other's from now on.
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
