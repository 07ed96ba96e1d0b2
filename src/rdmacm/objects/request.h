#pragma once

#include "rdmacm/objects/id.h"
#include "rdmacm/objects/reported_event.h"
#include "verbena/cm_event.h"
#include "verbena/error.h"

namespace verbena::rdmacm {

// Makes the id for a request to `listener`, and stores it in `event`. Fails if the request no
// longer exists.
[[nodiscard]] ErrorOr<void> TakeRequest(Id& listener, const CmEvent& request, ReportedEvent& event);

}  // namespace verbena::rdmacm
