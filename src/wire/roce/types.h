#pragma once

#include <cstdint>

#include "verbena/numbers.h"

namespace verbena::wire {

// The numbers in RoCE headers in addition to those of verbena/numbers.h. Identifiers of 24 bits are
// checked when they are written; sequence numbers wrap at 24 bits.

using Msn = SerialNumber<struct MsnTag, 24>;  // message sequence number

using EeContext = StrongId<struct EeContextTag, uint32_t>;  // 24 bits; reliable datagram

using PKey = StrongId<struct PKeyTag, uint16_t>;

// The full member of the default partition.
inline constexpr PKey kDefaultPKey{0xFFFF};

// The largest 24-bit number; as a QP number, the multicast QP.
inline constexpr uint32_t kMax24 = 0xFFFFFF;
inline constexpr QpNumber kMulticastQp{kMax24};

// UDP port of RoCEv2. (IBA A17.3.1)
inline constexpr uint16_t kRocePort = 4791;

}  // namespace verbena::wire
