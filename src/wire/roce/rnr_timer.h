#pragma once

#include <cstdint>

#include "base/time.h"
#include "verbena/strong_id.h"

namespace verbena::wire {

// How long a requester waits after an RNR NAK, as a code of 5 bits (IBA table 45).
using RnrTimer = StrongId<struct RnrTimerTag, uint8_t>;

inline constexpr uint8_t kRnrTimerCodes = 32;

[[nodiscard]] Duration DurationOf(RnrTimer timer);

// The code of the shortest time that is at least `wait`; the longest if there is none.
[[nodiscard]] RnrTimer RnrTimerAtLeast(Duration wait);

}  // namespace verbena::wire
