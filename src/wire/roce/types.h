#pragma once

#include <cstdint>

#include "base/serial_number.h"
#include "base/strong_id.h"

namespace verbena::wire {

// The numbers in RoCE headers, each a type of its own. Those of 24 bits that only name something
// are checked when they are written; those that count wrap where the wire does.

using Psn = SerialNumber<struct PsnTag, 24>;  // packet sequence number
using Msn = SerialNumber<struct MsnTag, 24>;  // message sequence number

using QpNumber = StrongId<struct QpNumberTag, uint32_t>;          // 24 bits
using EeContext = StrongId<struct EeContextTag, uint32_t>;        // 24 bits; reliable datagram
using XrcSrqNumber = StrongId<struct XrcSrqNumberTag, uint32_t>;  // 24 bits

using PKey = StrongId<struct PKeyTag, uint16_t>;
using QKey = StrongId<struct QKeyTag, uint32_t>;
using RKey = StrongId<struct RKeyTag, uint32_t>;
using VirtualAddress = StrongId<struct VirtualAddressTag, uint64_t>;

// The full member of the default partition.
inline constexpr PKey kDefaultPKey{0xFFFF};

// The largest number that has 24 bits; as a QP number, the multicast one.
inline constexpr uint32_t kMax24 = 0xFFFFFF;
inline constexpr QpNumber kMulticastQp{kMax24};

// UDP port of RoCEv2. (IBA A17.3.1)
inline constexpr uint16_t kRocePort = 4791;

}  // namespace verbena::wire
