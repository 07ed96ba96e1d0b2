#pragma once

#include <cstdint>

#include "base/time.h"
#include "verbena/strong_id.h"

namespace verbena::wire {

// A time in CM messages, as a code of 5 bits: 4.096 us * 2^code (IBA 12.7.5). Unlike in the ACK
// timeout, code 0 is not infinite.
using CmTimeout = StrongId<struct CmTimeoutTag, uint8_t>;

inline constexpr uint8_t kCmTimeoutCodes = 32;

[[nodiscard]] Duration DurationOf(CmTimeout timeout);

// The code of the shortest time that is at least `wait`; the longest if there is none.
[[nodiscard]] CmTimeout CmTimeoutAtLeast(Duration wait);

}  // namespace verbena::wire
