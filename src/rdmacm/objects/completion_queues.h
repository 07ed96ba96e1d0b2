#pragma once

#include <cstdint>

#include "rdmacm/objects/id.h"
#include "verbena/error.h"

// The completion queues that an id makes if the caller gives none for the queue pair. Each has its
// own channel, for rdma_get_send_comp and rdma_get_recv_comp.

namespace verbena::rdmacm {

// A depth of 0 makes no queue. A call that fails leaves nothing behind.
[[nodiscard]] ErrorOr<void> CreateCompletionQueues(Id& id, uint32_t send_depth,
                                                   uint32_t receive_depth);

// Has no effect while an XRC SRQ of the id uses them.
void DestroyCompletionQueues(Id& id);

}  // namespace verbena::rdmacm
