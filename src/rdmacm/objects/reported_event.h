#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

#include "rdmacm/objects/id.h"
#include "verbena/cm_event.h"

namespace verbena::rdmacm {

// An event as the program gets it, with the private data that it points to. Counts as one of
// `counted` that is not acknowledged for as long as it lives.
//
// Owned by the program, from rdma_get_cm_event to rdma_ack_cm_event; those of synchronous ids by
// the id. Thread rule: one thread at a time.
struct ReportedEvent : rdma_cm_event {
  ReportedEvent() : rdma_cm_event{} { std::memset(&param, 0, sizeof param); }
  ReportedEvent(const ReportedEvent&) = delete;
  ReportedEvent& operator=(const ReportedEvent&) = delete;
  ~ReportedEvent() {
    if (counted != nullptr) counted->events.Acknowledge();
  }

  // The id that it is about, or the listener that a request has come to.
  Id* counted = nullptr;
  std::array<std::byte, CmPrivateData::kMax> private_data = {};
};

[[nodiscard]] inline ReportedEvent& Cast(rdma_cm_event* event) {
  return *static_cast<ReportedEvent*>(event);
}

// What the program gets to see of an event of the connection manager. Null if that is nothing: the
// id is gone, or the connection has failed before.
[[nodiscard]] std::unique_ptr<ReportedEvent> Translate(const CmEvent& from);

}  // namespace verbena::rdmacm
