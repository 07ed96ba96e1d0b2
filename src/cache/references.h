#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/lazy_array.h"
#include "cache/entry.h"
#include "cache/sync.h"

namespace verbena::cache {

// How many handles an entry has, and how often it was acquired, in one word per entry and shard:
//
//    63                          24 23             0
//   +------------------------------+----------------+
//   |         acquisitions         |    handles     |
//   +------------------------------+----------------+
//
// A thread counts in its own shard, so that threads with one buffer do not share a cache line; a
// handle is released in the shard in which it was acquired, by any thread. One addition counts a
// reference and a hit at once, and shows the eviction what is used.
//
// The acquisitions of an entry wrap at 2^40; a use of 10 ns would have to go on for three hours
// between two looks (Core takes them out whenever an entry ends).
class References {
 public:
  static constexpr uint32_t kShards = 8;
  // A shard refuses more, so that handles never run into the acquisitions.
  static constexpr uint64_t kHandlesMax = uint64_t{1} << 23;

  explicit References(size_t entries) : entries_(entries), words_(entries * kShards) {}

  // The calling thread's.
  [[nodiscard]] static uint32_t ThisShard() { return ThreadNumber() % kShards; }

  // False if the shard is full; then nothing is counted.
  [[nodiscard]] bool Add(EntryNumber entry, uint32_t shard) {
    const uint64_t before = Word(entry, shard).fetch_add(kOne, std::memory_order_seq_cst);
    if ((before & kHandlesMask) < kHandlesMax) [[likely]] {
      return true;
    }
    Undo(entry, shard);
    return false;
  }
  // Takes back an Add that found that the entry does not serve: it was no use.
  void Undo(EntryNumber entry, uint32_t shard) {
    Word(entry, shard).fetch_sub(kOne, std::memory_order_seq_cst);
  }
  void Drop(EntryNumber entry, uint32_t shard) {
    Word(entry, shard).fetch_sub(1, std::memory_order_seq_cst);
  }

  // After the entry has left kLive: once every shard was seen without a handle, there is none, and
  // none will come.
  [[nodiscard]] bool IsFree(EntryNumber entry) const { return handles(entry) == 0; }
  [[nodiscard]] uint64_t handles(EntryNumber entry) const {
    uint64_t sum = 0;
    for (uint32_t shard = 0; shard < kShards; ++shard) sum += Load(entry, shard) & kHandlesMask;
    return sum;
  }
  [[nodiscard]] uint64_t acquisitions(EntryNumber entry) const {
    uint64_t sum = 0;
    for (uint32_t shard = 0; shard < kShards; ++shard) sum += Load(entry, shard) >> kShift;
    return sum;
  }
  // Sets the acquisitions to 0, and returns what they were.
  uint64_t TakeAcquisitions(EntryNumber entry) {
    uint64_t sum = 0;
    for (uint32_t shard = 0; shard < kShards; ++shard) {
      const uint64_t count = Load(entry, shard) >> kShift;
      // An Add that is about to be undone may be among them: then the word goes below 0 with it,
      // and is right again with the next life's first use, modulo 2^40 as ever.
      if (count != 0) Word(entry, shard).fetch_sub(count << kShift, std::memory_order_relaxed);
      sum += count;
    }
    return sum;
  }

 private:
  static constexpr int kShift = 24;
  static constexpr uint64_t kHandlesMask = (uint64_t{1} << kShift) - 1;
  static constexpr uint64_t kOne = (uint64_t{1} << kShift) + 1;

  // Shard by shard, so that neighbours in a cache line are of one shard.
  SyncAtomic<uint64_t>& Word(EntryNumber entry, uint32_t shard) {
    return words_[shard * entries_ + entry];
  }
  [[nodiscard]] uint64_t Load(EntryNumber entry, uint32_t shard) const {
    return words_[shard * entries_ + entry].load(std::memory_order_seq_cst);
  }

  const size_t entries_;
  LazyArray<SyncAtomic<uint64_t>> words_;
};

}  // namespace verbena::cache
