#pragma once

#include <cstdint>

#include "base/time.h"
#include "verbena/strong_id.h"

namespace verbena::wire {

// Two times that packets and attributes carry as codes of 5 bits.

// How long a requester waits for an acknowledgement: 4.096 us * 2^code; code 0 is infinite
// (IBA 9.7.6.1.3).
using AckTimeout = StrongId<struct AckTimeoutTag, uint8_t>;

inline constexpr uint8_t kAckTimeoutCodes = 32;

// Duration::Max() for code 0.
[[nodiscard]] Duration DurationOf(AckTimeout timeout);

// The code of the shortest timeout that is at least `wait`; 0 (infinite) if there is none.
[[nodiscard]] AckTimeout AckTimeoutAtLeast(Duration wait);

// How long a requester waits after an RNR NAK (IBA table 45).
using RnrTimer = StrongId<struct RnrTimerTag, uint8_t>;

inline constexpr uint8_t kRnrTimerCodes = 32;

[[nodiscard]] Duration DurationOf(RnrTimer timer);

// The code of the shortest time that is at least `wait`; the longest if there is none.
[[nodiscard]] RnrTimer RnrTimerAtLeast(Duration wait);

}  // namespace verbena::wire
