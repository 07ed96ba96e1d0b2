#pragma once

#include <rdma/rdma_cma.h>

#include <string_view>

#include "rdmacm/objects/id.h"

namespace verbena::rdmacm {

// The end of a call on an id: on a synchronous one it waits for the event of the call, keeps that
// in rdma_cm_id::event, and returns -1 if the event says that the call failed. On others it returns
// 0 at once.
[[nodiscard]] int Complete(Id& id);

// Acknowledges the event that a synchronous id keeps, if there is one.
void AcknowledgeKept(Id& id);

}  // namespace verbena::rdmacm
