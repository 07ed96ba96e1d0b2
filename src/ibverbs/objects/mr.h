#pragma once

#include <infiniband/verbs.h>

#include <cstddef>

#include "verbena/memory_region.h"

namespace verbena::ibverbs {

// Wraps `region` in the C structure that the program gets. `flags` are IBV_ACCESS_*.
[[nodiscard]] ibv_mr* Wrap(ibv_pd* pd, MemoryRegion region, void* address, size_t length,
                           unsigned flags);

}  // namespace verbena::ibverbs
