#pragma once

#include <cstdint>

#include "base/time.h"
#include "verbena/strong_id.h"

namespace verbena::wire {

// A time in CM messages, as a code of 5 bits: 4.096 us * 2^code (IBA 12.7.5). Unlike the timeout
// of acknowledgements, code 0 is a time like the others.
using CmTimeout = StrongId<struct CmTimeoutTag, uint8_t>;

inline constexpr uint8_t kCmTimeoutCodes = 32;

[[nodiscard]] Duration DurationOf(CmTimeout timeout);

// The code of the shortest time that is not shorter than `wait`; the longest if none is.
[[nodiscard]] CmTimeout CmTimeoutAtLeast(Duration wait);

}  // namespace verbena::wire
