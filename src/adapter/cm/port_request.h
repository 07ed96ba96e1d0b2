#pragma once

#include <cstdint>
#include <string>

#include "verbena/ip_address.h"
#include "wire/mad/ip_cm.h"

namespace verbena::adapter {

// The wildcard addresses: 0.0.0.0, in mapped form, and "::".
inline constexpr IpAddress kAnyIpv4 = IpAddress::FromIpv4(0, 0, 0, 0);
inline constexpr IpAddress kAnyIpv6 = {};

// A bind of the connection manager, as in rdma_bind_addr. A value type.
struct PortRequest {
  wire::IpCmProtocol protocol = wire::IpCmProtocol::kTcp;
  IpAddress address = kAnyIpv4;
  uint16_t port = 0;  // 0: any ephemeral port
  // RDMA_OPTION_ID_AFONLY: "::" then covers IPv6 only. An IPv4 bind never covers IPv6.
  bool own_family_only = false;
  bool reuse_address = false;  // RDMA_OPTION_ID_REUSEADDR

  [[nodiscard]] constexpr bool is_wildcard() const {
    return address == kAnyIpv4 || address == kAnyIpv6;
  }
  [[nodiscard]] constexpr bool covers_ipv4() const {
    return address.is_ipv4() || (address == kAnyIpv6 && !own_family_only);
  }
  [[nodiscard]] constexpr bool covers_ipv6() const { return !address.is_ipv4(); }
  [[nodiscard]] constexpr wire::IpCmService service() const { return {protocol, port}; }

  friend bool operator==(const PortRequest&, const PortRequest&) = default;
};

// Whether two binds to ports cannot exist at the same time. As in the kernel (cma.c,
// cma_check_port), except for a bind to one IPv6 address, which the kernel lets conflict with
// 0.0.0.0 unless both have own_family_only.
[[nodiscard]] constexpr bool AreInConflict(const PortRequest& a, const PortRequest& b) {
  if (a.protocol != b.protocol || a.port != b.port) return false;
  if (a.reuse_address && b.reuse_address) return false;
  const bool is_common_family =
      (a.covers_ipv4() && b.covers_ipv4()) || (a.covers_ipv6() && b.covers_ipv6());
  if (!is_common_family) return false;
  return a.is_wildcard() || b.is_wildcard() || a.address == b.address;
}

// "tcp"; the number for an unknown protocol.
[[nodiscard]] std::string NameOf(wire::IpCmProtocol protocol);

// "tcp port 7471 of 10.0.0.1", "... of all IPv4 addresses", "... of all addresses".
[[nodiscard]] std::string ToString(const PortRequest& request);

// --- Ephemeral ports, in blocks. ---

inline constexpr uint16_t kBlockPorts = 64;
inline constexpr uint16_t kFirstEphemeralPort = 32'768;
inline constexpr uint16_t kBlocks = 441;  // the last 8 ports of Linux's range are not used
inline constexpr uint16_t kLastEphemeralPort = kFirstEphemeralPort + kBlocks * kBlockPorts - 1;
static_assert(kLastEphemeralPort <= 60'999);

[[nodiscard]] constexpr bool IsEphemeral(uint16_t port) {
  return port >= kFirstEphemeralPort && port <= kLastEphemeralPort;
}
// REQUIRES: IsEphemeral(port).
[[nodiscard]] constexpr uint16_t FirstOfBlock(uint16_t port) {
  return static_cast<uint16_t>(port - (port - kFirstEphemeralPort) % kBlockPorts);
}

}  // namespace verbena::adapter
