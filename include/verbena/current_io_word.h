#pragma once

#include <atomic>
#include <cstdint>

namespace verbena {

// The two steps of a consumer on a region's current-I/O word (docs/quiesce.md), inline, because a
// program makes them for each operation. `src/memory/spaces/current_io.h` has the word's layout,
// the other steps, and what each race between two of them leads to.
struct CurrentIoWord {
  using Word = std::atomic<uint64_t>;

  static constexpr uint64_t kQuiesceBit = uint64_t{1} << 63;
  static constexpr uint64_t kInterestBit = uint64_t{1} << 62;
  static constexpr uint64_t kCountMask = UINT32_MAX;

  enum class BeginResult : uint8_t { kStarted, kQuiesced, kTooMany };
  enum class EndResult : uint8_t { kMore, kLastWhileQuiesced, kNotBegun };

  [[nodiscard]] static BeginResult Begin(Word& word, uint32_t operations) {
    uint64_t seen = word.load(std::memory_order_acquire);
    do {
      if ((seen & kQuiesceBit) != 0) return BeginResult::kQuiesced;
      if (operations > kCountMask - (seen & kCountMask)) return BeginResult::kTooMany;
    } while (!Change(word, seen, seen + operations));
    return BeginResult::kStarted;
  }

  [[nodiscard]] static EndResult End(Word& word, uint32_t operations) {
    uint64_t seen = word.load(std::memory_order_acquire);
    do {
      if (operations == 0 || (seen & kCountMask) < operations) return EndResult::kNotBegun;
    } while (!Change(word, seen, seen - operations));
    const bool is_last = (seen & kCountMask) == operations;
    return is_last && (seen & kQuiesceBit) != 0 ? EndResult::kLastWhileQuiesced : EndResult::kMore;
  }

  // For steps that depend on the present value. A failure reloads `seen`, and the caller decides
  // again.
  [[nodiscard]] static bool Change(Word& word, uint64_t& seen, uint64_t desired) {
    return word.compare_exchange_weak(seen, desired, std::memory_order_acq_rel,
                                      std::memory_order_acquire);
  }
};

}  // namespace verbena
