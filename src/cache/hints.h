#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/lazy_array.h"
#include "cache/entry.h"
#include "cache/sync.h"

namespace verbena::cache {

// Where a request that begins at some place was served before: a hash table of one cache line per
// place, of fixed size. It is only a hint, and may be wrong in any way: a reader finds out at the
// entry. So a place that is full forgets, nothing has to be taken out in time, and a reader needs
// no lock.
//
// Keyed by the page of a request with local rights, whose entries are whole pages, and by the
// address of one with remote rights.
//
// Thread rule: Put and Remove under the core's mutex; ForEach on any thread.
class Hints {
 public:
  explicit Hints(size_t entries) : mask_(std::bit_ceil(entries / 2 + 1) - 1), buckets_(mask_ + 1) {}

  // Calls fn(number) until it returns true; the answer is whether it did.
  template <class Fn>
  [[nodiscard, gnu::always_inline]] bool FindIf(const RegistrationRequest& request, Fn fn) const {
    const uint64_t hash = HashOf(request);
    const Bucket& bucket = buckets_[hash & mask_];
    for (const SyncAtomic<uint64_t>& place : bucket.places) {
      const uint64_t hint = place.load(std::memory_order_relaxed);
      if (hint >> 32 == hash >> 32 && hint != 0 && fn(static_cast<EntryNumber>(hint) - 1)) {
        return true;
      }
    }
    return false;
  }

  // Takes an empty place, or that of another.
  void Put(const RegistrationRequest& request, EntryNumber number) {
    const uint64_t hash = HashOf(request);
    const uint64_t hint = (hash >> 32 << 32) | (number + 1);
    Bucket& bucket = buckets_[hash & mask_];
    SyncAtomic<uint64_t>* free = nullptr;
    for (SyncAtomic<uint64_t>& place : bucket.places) {
      const uint64_t there = place.load(std::memory_order_relaxed);
      if (there == hint) return;
      if (there == 0 && free == nullptr) free = &place;
    }
    if (free == nullptr) free = &bucket.places[next_victim_++ % kPlaces];
    free->store(hint, std::memory_order_relaxed);
  }

  // So that an entry does not fill a place for which it was put in by the same request.
  void Remove(const RegistrationRequest& request, EntryNumber number) {
    const uint64_t hash = HashOf(request);
    for (SyncAtomic<uint64_t>& place : buckets_[hash & mask_].places) {
      if (static_cast<uint32_t>(place.load(std::memory_order_relaxed)) == number + 1) {
        place.store(0, std::memory_order_relaxed);
      }
    }
  }

 private:
  static constexpr size_t kPlaces = 8;
  struct alignas(64) Bucket {
    std::array<SyncAtomic<uint64_t>, kPlaces> places;  // hash << 32 | number + 1; 0: empty
  };

  static uint64_t HashOf(const RegistrationRequest& request) {
    uint64_t key = request.is_exact() ? ~request.bytes.first : request.bytes.first >> 12;
    key *= 0x9E3779B97F4A7C15;
    key ^= key >> 29;
    key *= 0xD6E8FEB86659FD93;
    return key ^ key >> 32;
  }

  const uint64_t mask_;
  LazyArray<Bucket> buckets_;
  size_t next_victim_ = 0;
};

}  // namespace verbena::cache
