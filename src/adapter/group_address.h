#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "verbena/ip_address.h"

namespace verbena::adapter {

// The IP address of a multicast group with this GID. An IPv4 group has the GID ff0e::ffff:a.b.c.d,
// as in RoCE, or ::ffff:a.b.c.d; the GID of an IPv6 group is its address. Other GIDs are returned
// unchanged.
[[nodiscard]] inline IpAddress GroupAddress(const IpAddress& gid) {
  constexpr std::array<uint8_t, 12> kIpv4Group{0xFF, 0x0E, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  constexpr size_t kScope = 1;
  IpAddress mapped = gid;
  mapped.bytes[kScope] = kIpv4Group[kScope];  // any scope, permanent or transient
  if (!std::equal(kIpv4Group.begin(), kIpv4Group.end(), mapped.bytes.begin())) return gid;
  mapped.bytes[0] = mapped.bytes[kScope] = 0;
  return mapped;
}

}  // namespace verbena::adapter
