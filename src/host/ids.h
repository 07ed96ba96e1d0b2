#pragma once

#include <cstdint>

#include "verbena/strong_id.h"

namespace verbena::host {

// A guest of a broker: never used again for another guest of the same broker.
using GuestId = StrongId<struct GuestIdTag, uint64_t>;

// A registered region of a guest; the guest chooses the number.
using RegionNumber = StrongId<struct RegionNumberTag, uint32_t>;

}  // namespace verbena::host
