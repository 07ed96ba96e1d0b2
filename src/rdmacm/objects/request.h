#pragma once

#include "rdmacm/objects/id.h"
#include "rdmacm/objects/reported_event.h"
#include "verbena/cm_event.h"
#include "verbena/error.h"

namespace verbena::rdmacm {

// Makes the id that a request to `listener` asks for, and puts it into `event`. Fails if the
// request is not there any more.
[[nodiscard]] ErrorOr<void> TakeRequest(Id& listener, const CmEvent& request, ReportedEvent& event);

}  // namespace verbena::rdmacm
