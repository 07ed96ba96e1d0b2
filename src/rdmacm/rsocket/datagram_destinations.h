#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <map>

#include "rdmacm/rsocket/cm_event_channel.h"
#include "rdmacm/rsocket/datagram_port.h"
#include "rdmacm/rsocket/limits.h"
#include "rdmacm/rsocket/socket_name.h"

namespace verbena::rsockets {

// A peer of a datagram socket. Without an address handle, datagrams to it go over UDP.
struct DatagramDestination {
  DatagramPort* port = nullptr;  // that sends to it
  OwnedAh ah;
  uint32_t qpn = 0;    // of the peer; valid with `ah` or `resolver`
  OwnedCmId resolver;  // finds the path for `ah`
  uint64_t last_use = 0;
};

// The peers of a datagram socket by name, at most kDestinationsMax: a new one replaces the least
// recently used. The owner's lock guards it.
class DatagramDestinations {
 public:
  // Null if the name is unknown.
  [[nodiscard]] DatagramDestination* Find(const SocketName& name);
  // Returns the existing destination, or a new one.
  [[nodiscard]] DatagramDestination& Insert(const SocketName& name);
  // The destination that `resolver` belongs to; null if there is none.
  [[nodiscard]] DatagramDestination* FindByResolver(const rdma_cm_id* resolver);
  [[nodiscard]] std::size_t size() const { return destinations_.size(); }
  void clear() { destinations_.clear(); }

 private:
  std::map<SocketName, DatagramDestination> destinations_;
  uint64_t uses_ = 0;
};

}  // namespace verbena::rsockets
