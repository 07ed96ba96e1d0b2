#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

#include "rdmacm/objects/id.h"
#include "verbena/cm_event.h"

namespace verbena::rdmacm {

// An event as the program gets it, with its private data. Counts as an unacknowledged event of
// `counted` during its lifetime.
//
// Owned by the program, from rdma_get_cm_event to rdma_ack_cm_event; that of a synchronous id by
// the id. Thread rule: one thread at a time.
struct ReportedEvent : rdma_cm_event {
  ReportedEvent() : rdma_cm_event{} { std::memset(&param, 0, sizeof param); }
  ReportedEvent(const ReportedEvent&) = delete;
  ReportedEvent& operator=(const ReportedEvent&) = delete;
  ~ReportedEvent() {
    if (counted != nullptr) counted->events.Acknowledge();
  }

  // The id of the event, or the listener of a request.
  Id* counted = nullptr;
  std::array<std::byte, CmPrivateData::kMax> private_data = {};
};

[[nodiscard]] inline ReportedEvent& Cast(rdma_cm_event* event) {
  return *static_cast<ReportedEvent*>(event);
}

// Converts an event of the connection manager. Null if the program does not get it, because the id
// is gone or its connection has failed before.
[[nodiscard]] std::unique_ptr<ReportedEvent> Translate(const CmEvent& from);

}  // namespace verbena::rdmacm
