#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "base/time.h"

namespace verbena::sim {

// Draws the options of a seed, and prints them.

// 0 (off) with probability 1/2; otherwise 1 to `most`, small values more often than large ones.
inline uint32_t Trouble(Random& random, uint32_t most) {
  if (random.Chance(1, 2)) return 0;
  return static_cast<uint32_t>(1 + random.Below(1 + random.Below(most)));
}

inline Duration UpTo(Random& random, int64_t microseconds) {
  return Microseconds(static_cast<int64_t>(1 + random.Below(static_cast<uint64_t>(microseconds))));
}

inline void Line(std::string& text, const char* name, uint64_t value) {
  text += std::string(name) + "=" + std::to_string(value) + "\n";
}

inline void Line(std::string& text, const char* name, Duration value) {
  text += std::string(name) + "=" + verbena::ToString(value) + "\n";
}

}  // namespace verbena::sim
