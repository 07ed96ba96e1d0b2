#pragma once

#include <cstdint>

#include "verbena/strong_id.h"

namespace verbena::memory {

// The second-stage key (row E8): which guest's table turns a physical address into a machine
// address, and which generation of that guest number. The first-stage key yields it. 0 is the host,
// whose physical addresses are machine addresses already.
using GuestKey = StrongId<struct GuestKeyTag, uint32_t>;
inline constexpr GuestKey kHost{0};

// 0 for the host; the number that hypervisor and drivers use.
using GuestNumber = StrongId<struct GuestNumberTag, uint32_t>;

}  // namespace verbena::memory
