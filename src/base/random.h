#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "base/check.h"

namespace verbena {

// A stream of random numbers that is the same on every platform for the same seed: xoshiro256**,
// seeded through splitmix64, both by Blackman and Vigna. The distributions are our own for the same
// reason: those of <random> differ between libraries. Not for secrets.
//
// Satisfies UniformRandomBitGenerator. A value type: a copy repeats the stream. Its owner guards
// it.
class Random {
 public:
  using result_type = uint64_t;

  explicit Random(uint64_t seed);

  uint64_t Next64() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // The upper half, which is the better one in this family of generators.
  uint32_t Next32() { return static_cast<uint32_t>(Next64() >> 32); }

  // Uniform over [0, n). The high word of draw * n would favour some results by one draw in 2^64;
  // the draws whose low word is below 2^64 mod n are the surplus and are drawn again (Lemire). That
  // modulus, the only division, is computed only when the low word is below n.
  uint64_t Below(uint64_t n) {
    CHECK(n > 0);
    Uint128 product = Uint128{Next64()} * n;
    if (static_cast<uint64_t>(product) < n) {
      const uint64_t surplus = (0 - n) % n;
      while (static_cast<uint64_t>(product) < surplus) product = Uint128{Next64()} * n;
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Uniform over [low, high], both included; the whole 64-bit range is allowed.
  uint64_t Between(uint64_t low, uint64_t high) {
    CHECK(low <= high);
    const uint64_t count = high - low + 1;
    return count == 0 ? Next64() : low + Below(count);
  }

  // True with probability numerator / denominator.
  bool Chance(uint64_t numerator, uint64_t denominator) { return Below(denominator) < numerator; }

  // Takes any range that converts to a span.
  template <class Range>
  void Shuffle(Range&& range) {
    const std::span items(range);
    for (std::size_t left = items.size(); left > 1; --left) {
      using std::swap;
      swap(items[left - 1], items[Below(left)]);
    }
  }

  // An independent stream that is fixed by the state of this one. Parts that draw from forks do not
  // disturb each other when one of them changes how much it draws.
  [[nodiscard]] Random Fork();

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return std::numeric_limits<uint64_t>::max(); }
  uint64_t operator()() { return Next64(); }

 private:
  __extension__ using Uint128 = unsigned __int128;

  std::array<uint64_t, 4> state_;
};

}  // namespace verbena
