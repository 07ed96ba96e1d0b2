#pragma once

#include <infiniband/verbs.h>

#include "verbena/context.h"

namespace verbena::ibverbs {

// For librdmacm.so.1, which uses this library: the handle of a device that ibv_open_device has
// opened.
[[nodiscard]] const verbena::Context& HandleOf(ibv_context* context);

}  // namespace verbena::ibverbs
