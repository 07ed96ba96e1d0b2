#pragma once

#include <cerrno>
#include <cstdint>

#include "base/error.h"
#include "base/result.h"
#include "fabric/endpoint_ports.h"
#include "fabric/udp_socket.h"

namespace verbena::fabric {

// Datagrams to groups are sent to these endpoints (0 to 7 by default), which are reserved for
// members.
inline constexpr uint32_t kMulticastEndpoints = 8;

enum class EndpointUse : uint8_t {
  kFirst,      // of a process: endpoint 0 if it is free, the port of RoCEv2
  kMore,       // for more queue pairs
  kMulticast,  // one of those that get multicast datagrams
};

struct EndpointOptions {
  EndpointPorts ports{};
  // Ids are below this; fewer if a firewall opens only some ports.
  uint32_t count = kEndpointsMax;
  uint32_t multicast = kMulticastEndpoints;  // the first endpoints; at least 1
  EndpointUse use = EndpointUse::kFirst;
  // Only endpoint 0: peers that are not Verbena use no other port.
  bool strict = false;
  uint64_t seed = 0;  // of the random choice
};

// The error code if no endpoint is left.
inline constexpr int kNoEndpointLeft = EADDRNOTAVAIL;

// Binds `socket` to the port of a free endpoint, on all addresses. The endpoint is free again when
// the socket is closed, in whatever way the process ends.
//
// The choice is random, except for endpoint 0 and multicast, so that packets which peers still send
// to a dead process do not reach the next process.
[[nodiscard]] ErrorOr<EndpointId> ClaimEndpoint(UdpSocket& socket, const EndpointOptions& options);

}  // namespace verbena::fabric
