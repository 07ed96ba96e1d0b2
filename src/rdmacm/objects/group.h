#pragma once

#include <rdma/rdma_cma.h>

#include <memory>

#include "rdmacm/objects/id.h"
#include "verbena/error.h"

// Multicast groups. RoCE has no subnet manager to ask: joining is local to this machine, and
// happens when the program takes the event.

namespace verbena::rdmacm {

// Attaches the queue pair of the id, if any, and stores in `param` how to send to the group.
[[nodiscard]] ErrorOr<void> FinishJoin(const Id& id, Group& group, rdma_ud_param& param);

// Detaches the queue pair of the id, if it is attached.
void Detach(const Id& id, Group& group);

}  // namespace verbena::rdmacm
