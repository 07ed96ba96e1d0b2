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

// A peer of a datagram socket. While it has no address handle, datagrams to it go over UDP.
struct DatagramDestination {
  DatagramPort* port = nullptr;  // that sends to it
  OwnedAh ah;
  uint32_t qpn = 0;    // of the peer; valid with `ah`, or while `resolver` is there
  OwnedCmId resolver;  // finds the path for `ah`
  uint64_t last_use = 0;
};

// The peers of a datagram socket by their names, kDestinationsMax of them: the one longest without
// use makes room for a new one. The owner's lock guards it.
class DatagramDestinations {
 public:
  // Null if it is not known.
  [[nodiscard]] DatagramDestination* Find(const SocketName& name);
  // A new one, or the one that is there.
  [[nodiscard]] DatagramDestination& Insert(const SocketName& name);
  // The one that `resolver` works for; null if it is gone.
  [[nodiscard]] DatagramDestination* FindByResolver(const rdma_cm_id* resolver);
  [[nodiscard]] std::size_t size() const { return destinations_.size(); }
  void clear() { destinations_.clear(); }

 private:
  std::map<SocketName, DatagramDestination> destinations_;
  uint64_t uses_ = 0;
};

}  // namespace verbena::rsockets
