#pragma once

#include <infiniband/verbs.h>

#include "ibverbs/objects/qp.h"
#include "verbena/work_request.h"

namespace verbena::ibverbs {

// Converts IBV_SEND_*. With sq_sig_all every request on the queue pair is signaled.
[[nodiscard]] inline SendFlags ToSendFlags(const Qp& qp, unsigned flags) {
  return {.signaled = qp.creation.sq_sig_all != 0 || (flags & IBV_SEND_SIGNALED) != 0,
          .solicited = (flags & IBV_SEND_SOLICITED) != 0,
          .fence = (flags & IBV_SEND_FENCE) != 0,
          .inlined = (flags & IBV_SEND_INLINE) != 0};
}

}  // namespace verbena::ibverbs
