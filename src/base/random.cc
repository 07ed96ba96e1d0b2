#include "base/random.h"

namespace verbena {
namespace {

// One step of splitmix64. It maps distinct inputs to distinct outputs, so the four words of a state
// are never all zero, the one state that xoshiro must not have.
uint64_t SplitMix64(uint64_t& state) {
  state += 0x9E3779B97F4A7C15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) word = SplitMix64(seed);
}

Random Random::Fork() { return Random(Next64()); }

}  // namespace verbena
