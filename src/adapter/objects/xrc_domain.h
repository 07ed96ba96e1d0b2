#pragma once

#include <cstdint>
#include <vector>

#include "adapter/objects/completion_channel.h"
#include "transport/xrc/xrc_domain.h"

namespace verbena::adapter {

class QueuePair;

// The receivers of extended connections, and the connections that deliver to them: each must forget
// a receiver before it goes.
//
// Owned by the adapter. Thread rule: under the engine's lock.
struct XrcDomain {
  transport::XrcDomain receivers;
  std::vector<QueuePair*> connections;  // of kXrcReceive
  // What a connection's own halves have for completion queues. Nothing completes there: it sends
  // nothing, and each receiver brings its own.
  Cq none{1, nullptr};

  // So that the next one needs no memory.
  void MakeRoomForConnection() { connections.reserve(connections.size() + 1); }

  [[nodiscard]] bool is_used() const { return !receivers.empty() || !connections.empty(); }
};

}  // namespace verbena::adapter
