#pragma once

#include "fabric/address.h"
#include "wire/ip_address.h"

namespace verbena::adapter {

// The same 16 bytes in the words of the two layers that meet here.
[[nodiscard]] constexpr wire::IpAddress WireAddress(const fabric::IpAddress& address) {
  return {address.bytes};
}
[[nodiscard]] constexpr fabric::IpAddress FabricAddress(const wire::IpAddress& address) {
  return {address.bytes};
}

}  // namespace verbena::adapter
