#pragma once

#include <cerrno>

#include "ibverbs/failure.h"
#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

// True, with errno set and the reason logged for `call`, in a child that was forked from the
// process that opened the device.
[[nodiscard]] inline bool IsForked(const Context& context, const char* call) {
  const auto alive = context.handle.Query();
  if (!alive) errno = Failed(call, alive.error());
  return !alive;
}

}  // namespace verbena::ibverbs
