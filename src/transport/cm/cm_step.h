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

// All that connections want of the world, in the order in which they wanted it. An input adds two
// datagrams and two events at most; CmManager::OnTime is bounded as well. Owned by the caller of
// the step.
struct CmOutbox {
  std::vector<CmDatagram> datagrams = {};
  std::vector<CmRaisedEvent> events = {};

  void Clear() {
    datagrams.clear();
    events.clear();
  }
};

// What every input comes with. A machine keeps nothing of it.
struct CmStep {
  Time now;
  CmOutbox& outbox;
};

}  // namespace verbena::transport
