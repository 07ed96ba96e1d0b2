#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace verbena::sim {

// Random bytes, so that no other memory holds the same ones.
inline std::vector<std::byte> Noise(Random& random, uint64_t length) {
  std::vector<std::byte> noise(length);
  uint64_t word = 0;
  for (size_t i = 0; i < length; ++i, word >>= 8) {
    if (i % sizeof word == 0) word = random.Next64();
    noise[i] = static_cast<std::byte>(word);
  }
  return noise;
}

}  // namespace verbena::sim
