#pragma once

#include <cstdint>

#include "adapter/cm/port_claim.h"
#include "adapter/objects/cm_event_queue.h"
#include "transport/cm/cm_listeners.h"
#include "verbena/cm_event.h"
#include "wire/mad/cm_types.h"

namespace verbena::adapter {

// An id of the connection manager that belongs to the program: a listener, one end of a connection,
// or one end of a SIDR exchange.
//
// Owned by the Gsi; under the engine's lock.
struct CmEnd : CmEventTarget {
  enum class State : uint8_t {
    kIdle,
    kListening,
    kConnection,  // `connection` is its local id
    kExchange,    // `exchange` is the SIDR request id
  };

  CmEnd(CmEventQueue& events, PortSpace in, void* name) : space(in) {
    queue = &events;
    user = name;
  }

  const PortSpace space;
  State state = State::kIdle;
  CmAddress local = {};
  PortClaim claim = {};
  transport::CmListenAddress listens_on = {};
  wire::CommId connection = {};
  wire::SidrRequestId exchange = {};
};

}  // namespace verbena::adapter
