#pragma once

#include <vector>

#include "base/time.h"
#include "transport/cm/cm_event.h"
#include "transport/cm/cm_peer.h"
#include "wire/mad/cm_mad.h"

namespace verbena::transport {

// A MAD to be sent to the general services queue pair of an address.
struct CmDatagram {
  CmPeer to{};
  wire::CmMad mad;
};

// The effects of the state machines, in order. An input adds at most two datagrams and two events;
// CmManager::OnTime is bounded, too. Owned by the caller of the step.
struct CmOutbox {
  std::vector<CmDatagram> datagrams = {};
  std::vector<CmRaisedEvent> events = {};

  void Clear() {
    datagrams.clear();
    events.clear();
  }
};

// The context of an input. A state machine keeps no reference to it.
struct CmStep {
  Time now;
  CmOutbox& outbox;
};

}  // namespace verbena::transport
