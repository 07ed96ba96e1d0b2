#pragma once

#include <cstdint>

#include "fabric/endpoint_ports.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// The number of a queue pair says which endpoint of its machine it is at:
//
//    23                     12 11                      0
//   +-------------------------+-------------------------+
//   |        endpoint         |         number          |
//   +-------------------------+-------------------------+
inline constexpr uint32_t kNumberBits = 12;
inline constexpr uint32_t kNumbersOfEndpoint = 1U << kNumberBits;
static_assert(fabric::kEndpointsMax << kNumberBits == 1U << 24);

[[nodiscard]] constexpr fabric::EndpointId EndpointOf(QpNumber qp) {
  return fabric::EndpointId(static_cast<uint16_t>(qp.value() >> kNumberBits));
}
[[nodiscard]] constexpr uint32_t NumberWithin(QpNumber qp) {
  return qp.value() & (kNumbersOfEndpoint - 1);
}
[[nodiscard]] constexpr QpNumber MakeQpNumber(fabric::EndpointId endpoint, uint32_t number) {
  return QpNumber(uint32_t{endpoint.value()} << kNumberBits | number);
}

// Which UDP ports the queue pairs of a machine use; see docs/fabric.md. A value type.
struct PortMap {
  fabric::EndpointPorts ports = {};
  bool strict = false;
  // Endpoints of a machine that receive multicast datagrams: each gets a copy.
  uint32_t multicast_endpoints = 1;

  // The UDP port that packets to this queue pair go to.
  [[nodiscard]] uint16_t PortOf(QpNumber qp) const {
    const bool is_first = strict || qp == wire::kMulticastQp;
    return is_first ? ports.first : ports.PortOf(EndpointOf(qp));
  }
  // The source port of packets of this queue pair; 0 in strict mode, where peers choose any port.
  [[nodiscard]] uint16_t SourcePortOf(QpNumber qp) const {
    return strict ? uint16_t{0} : ports.PortOf(EndpointOf(qp));
  }
};

}  // namespace verbena::adapter
