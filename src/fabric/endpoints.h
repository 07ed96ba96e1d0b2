#pragma once

#include <cerrno>
#include <cstdint>

#include "base/error.h"
#include "base/result.h"
#include "fabric/endpoint_ports.h"
#include "fabric/udp_socket.h"

namespace verbena::fabric {

// Datagrams to groups are sent to these endpoints, 0 to 7 by default: they are kept for members.
inline constexpr uint32_t kMulticastEndpoints = 8;

enum class EndpointUse : uint8_t {
  kFirst,      // of a process: endpoint 0 if it is free, which all RoCEv2 implementations know
  kMore,       // for more queue pairs
  kMulticast,  // one of those that senders copy datagrams to groups to
};

struct EndpointOptions {
  EndpointPorts ports{};
  // Ids are below it: fewer for a firewall that lets only some ports through.
  uint32_t count = kEndpointsMax;
  uint32_t multicast = kMulticastEndpoints;  // the first ones; at least 1
  EndpointUse use = EndpointUse::kFirst;
  // Endpoint 0 or nothing: peers that are not Verbena know no other port.
  bool strict = false;
  uint64_t seed = 0;  // of the choice
};

// The code of the error when there is none left.
inline constexpr int kNoEndpointLeft = EADDRNOTAVAIL;

// Binds `socket` to the port of an endpoint that is free, on all addresses. The endpoint is free
// again when the socket is closed, however the process ends.
//
// Which one is random, but for endpoint 0 and multicast. What peers still send to a process that
// has died would otherwise reach the next one that starts.
[[nodiscard]] ErrorOr<EndpointId> ClaimEndpoint(UdpSocket& socket, const EndpointOptions& options);

}  // namespace verbena::fabric
