#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "fabric/address.h"
#include "fabric/datagram.h"

namespace verbena::fabric {

// An address of this machine and the interface that has it. A value type.
struct LocalAddress {
  IpAddress ip;
  std::string interface_name;
  uint32_t interface_index = 0;
  uint32_t mtu = 0;
  bool up = false;  // and running
  bool loopback = false;

  friend bool operator==(const LocalAddress&, const LocalAddress&) = default;
};

// All addresses, each once, those of the loopback interface last; otherwise in the order of the
// interface index, IPv4 first, then by address. The order is the same on every call until an
// address changes.
[[nodiscard]] ErrorOr<std::vector<LocalAddress>> LocalAddresses();

// The longest IP packet on the path, as far as the kernel knows; nothing is sent. The kernel learns
// smaller values from ICMP messages of routers.
[[nodiscard]] ErrorOr<uint32_t> PathMtu(const Route& route);

// The default source address of datagrams to `to`; nullopt if there is no route.
[[nodiscard]] std::optional<IpAddress> UsualSource(const IpAddress& to);

// The same, always from the kernel: the functions above return valid entries of a NetworkCache of
// the process. Any thread.
namespace asked {
[[nodiscard]] ErrorOr<std::vector<LocalAddress>> LocalAddresses();
[[nodiscard]] ErrorOr<uint32_t> PathMtu(const Route& route);
[[nodiscard]] std::optional<IpAddress> UsualSource(const IpAddress& to);
}  // namespace asked

// The bytes that are left after the IP and UDP headers.
[[nodiscard]] constexpr uint32_t DatagramBytesMax(uint32_t path_mtu, const IpAddress& to) {
  constexpr uint32_t kIpv4 = 20, kIpv6 = 40, kUdp = 8;
  const uint32_t headers = (to.is_ipv4() ? kIpv4 : kIpv6) + kUdp;
  return path_mtu > headers ? path_mtu - headers : 0;
}

}  // namespace verbena::fabric
