#pragma once

#include <infiniband/verbs.h>

#include <cstddef>

#include "verbena/memory_region.h"

namespace verbena::ibverbs {

// A region as programs have it. `flags` are IBV_ACCESS_*.
[[nodiscard]] ibv_mr* Wrap(ibv_pd* pd, MemoryRegion region, void* address, size_t length,
                           unsigned flags);

}  // namespace verbena::ibverbs
