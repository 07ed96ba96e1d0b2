#pragma once

#include <cstdint>

#include "rdmacm/objects/id.h"
#include "verbena/error.h"

// The completion queues that an id makes for a queue pair whose creator gives none. Each has a
// channel of its own, for rdma_get_send_comp and rdma_get_recv_comp.

namespace verbena::rdmacm {

// A depth of 0: no such queue. Nothing is left of a call that fails.
[[nodiscard]] ErrorOr<void> CreateCompletionQueues(Id& id, uint32_t send_depth,
                                                   uint32_t receive_depth);

// Nothing happens while an XRC shared receive queue of the id uses them.
void DestroyCompletionQueues(Id& id);

}  // namespace verbena::rdmacm
