#pragma once

#include <cstdint>
#include <string>

#include "verbena/ip_address.h"

namespace verbena::fabric {

// The address and port of a socket. A value type.
struct UdpAddress {
  IpAddress ip;
  uint16_t port = 0;

  friend constexpr bool operator==(const UdpAddress&, const UdpAddress&) = default;
};

// "10.0.0.1:4791", "[fd00::1]:4791"
[[nodiscard]] std::string ToString(const UdpAddress& endpoint);

}  // namespace verbena::fabric
