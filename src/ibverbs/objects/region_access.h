#pragma once

#include <infiniband/verbs.h>

#include <optional>

#include "verbena/access.h"

namespace verbena::ibverbs {

// The access rights of a region's IBV_ACCESS_*. Optional flags are hints, and dropped. nullopt if a
// flag is unknown, or if peers could write what the owner cannot.
[[nodiscard]] std::optional<Access> RegionAccess(unsigned flags);

// The same for a window, which grants rights to peers only.
[[nodiscard]] std::optional<Access> WindowAccess(unsigned flags);

}  // namespace verbena::ibverbs
