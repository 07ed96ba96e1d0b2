#pragma once

#include <cstdint>

#include "verbena/numbers.h"

namespace verbena::queue {

// The number of an element among all that were ever posted to a queue. 64 bits do not wrap in
// practice.
using WqeNumber = StrongId<struct WqeNumberTag, uint64_t>;

constexpr WqeNumber Next(WqeNumber n) { return WqeNumber(n.value() + 1); }

}  // namespace verbena::queue
