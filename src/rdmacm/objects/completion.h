#pragma once

#include <rdma/rdma_cma.h>

#include <string_view>

#include "rdmacm/objects/id.h"

namespace verbena::rdmacm {

// Ends a call on an id. For a synchronous id, waits for the event of the call, keeps it in
// rdma_cm_id::event, and returns -1 if the event reports a failure. For other ids, returns 0 at
// once.
[[nodiscard]] int Complete(Id& id);

// Acknowledges the event that a synchronous id keeps, if any.
void AcknowledgeKept(Id& id);

}  // namespace verbena::rdmacm
