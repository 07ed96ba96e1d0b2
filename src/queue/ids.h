#pragma once

#include <cstdint>

#include "base/strong_id.h"

namespace verbena::queue {

// The names that work requests and completions carry. Queues copy them and never look inside.
using WrId = StrongId<struct WrIdTag, uint64_t>;  // the program's own
using QpNumber = StrongId<struct QpNumberTag, uint32_t>;
using SrqNumber = StrongId<struct SrqNumberTag, uint32_t>;
using AddressHandleId = StrongId<struct AddressHandleIdTag, uint32_t>;
using QKey = StrongId<struct QKeyTag, uint32_t>;

// An L_Key or R_Key as the program wrote it, not yet looked up anywhere.
using KeyValue = StrongId<struct KeyValueTag, uint32_t>;

// Immediate data, as the 32 bits that the program reads as a number in network byte order.
using Immediate = StrongId<struct ImmediateTag, uint32_t>;

// The how-manieth element ever posted to a queue. 64 bits do not wrap in the life of a machine.
using WqeNumber = StrongId<struct WqeNumberTag, uint64_t>;

constexpr WqeNumber Next(WqeNumber n) { return WqeNumber(n.value() + 1); }

}  // namespace verbena::queue
