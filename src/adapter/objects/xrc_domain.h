#pragma once

#include <cstdint>
#include <vector>

#include "adapter/objects/completion_channel.h"
#include "transport/xrc/xrc_receivers.h"

namespace verbena::adapter {

class QueuePair;

// An XRC domain: the SRQs that receive, and the XRC connections that deliver to them. Before an SRQ
// is destroyed, every connection must drop its reference to it.
//
// Owned by the adapter. Thread rule: under the engine's lock.
struct XrcDomain {
  transport::XrcReceivers receivers;
  std::vector<QueuePair*> connections;  // of type kXrcReceive
  // The completion queue of the connections' own send and receive queues. Nothing completes there:
  // a connection sends nothing, and each SRQ has a completion queue of its own.
  Cq none{1, nullptr};

  // So that adding the next connection allocates no memory.
  void MakeRoomForConnection() { connections.reserve(connections.size() + 1); }

  [[nodiscard]] bool is_used() const { return !receivers.empty() || !connections.empty(); }
};

}  // namespace verbena::adapter
