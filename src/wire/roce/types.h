#pragma once

#include <cstdint>

#include "verbena/numbers.h"

namespace verbena::wire {

// The numbers in RoCE headers beside those of verbena/numbers.h. Those of 24 bits that only name
// something are checked when they are written; those that count wrap where the wire does.

using Msn = SerialNumber<struct MsnTag, 24>;  // message sequence number

using EeContext = StrongId<struct EeContextTag, uint32_t>;  // 24 bits; reliable datagram

using PKey = StrongId<struct PKeyTag, uint16_t>;

// The full member of the default partition.
inline constexpr PKey kDefaultPKey{0xFFFF};

// The largest number that has 24 bits; as a QP number, the multicast one.
inline constexpr uint32_t kMax24 = 0xFFFFFF;
inline constexpr QpNumber kMulticastQp{kMax24};

// UDP port of RoCEv2. (IBA A17.3.1)
inline constexpr uint16_t kRocePort = 4791;

}  // namespace verbena::wire
