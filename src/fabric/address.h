#pragma once

#include <cstdint>
#include <string>

#include "verbena/ip_address.h"

namespace verbena::fabric {

// Where a socket is. A value type.
struct Endpoint {
  IpAddress ip;
  uint16_t port = 0;

  friend constexpr bool operator==(const Endpoint&, const Endpoint&) = default;
};

// "10.0.0.1:4791", "[fd00::1]:4791"
[[nodiscard]] std::string ToString(const Endpoint& endpoint);

}  // namespace verbena::fabric
