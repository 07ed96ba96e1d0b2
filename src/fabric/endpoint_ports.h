#pragma once

#include <cstdint>

#include "verbena/strong_id.h"

namespace verbena::fabric {

// An endpoint of a machine: a UDP port that one process has.
using EndpointId = StrongId<struct EndpointIdTag, uint16_t>;

inline constexpr uint16_t kRocePort = 4791;  // IBA A17.3.2
inline constexpr uint32_t kEndpointsMax = 4'096;

// The UDP port of each endpoint of a machine. Peers compute it from the queue pair number, so all
// peers need the same map. A value type.
//
// The ports after 4791 belong to other protocols (mDNS 5353, Geneve 6081, VXLAN 8472); those from
// 61000 on are above Linux's ephemeral ports (32768 to 60999) and inside IANA's dynamic range,
// where no service is registered.
struct EndpointPorts {
  uint16_t first = kRocePort;  // of endpoint 0
  uint16_t others = 61'000;    // endpoint n has this plus n

  [[nodiscard]] constexpr uint16_t PortOf(EndpointId id) const {
    return id.value() == 0 ? first : static_cast<uint16_t>(others + id.value());
  }

  friend constexpr bool operator==(const EndpointPorts&, const EndpointPorts&) = default;
};

}  // namespace verbena::fabric
