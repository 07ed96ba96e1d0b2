#pragma once

#include <infiniband/verbs.h>

#include <optional>

#include "verbena/access.h"

namespace verbena::ibverbs {

// Rights that a region's IBV_ACCESS_* name. Optional ones are hints, and dropped; nullopt if there
// is unknown, or if peers would get more than the owner has.
[[nodiscard]] std::optional<Access> RegionAccess(unsigned flags);

// The same for a window, which grants nothing to its owner.
[[nodiscard]] std::optional<Access> WindowAccess(unsigned flags);

}  // namespace verbena::ibverbs
