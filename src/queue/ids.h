#pragma once

#include <cstdint>

#include "verbena/numbers.h"

namespace verbena::queue {

// The how-manieth element ever posted to a queue. 64 bits do not wrap in the life of a machine.
using WqeNumber = StrongId<struct WqeNumberTag, uint64_t>;

constexpr WqeNumber Next(WqeNumber n) { return WqeNumber(n.value() + 1); }

}  // namespace verbena::queue
