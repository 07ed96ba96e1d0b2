#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "fabric/address.h"

namespace verbena::fabric {

// The IP versions that a socket can reach.
enum class SocketFamily : uint8_t {
  kIpv4,       // on kernels without IPv6
  kDualStack,  // both, with one socket: IPv4 addresses in mapped form
};

// An address in the form of the kernel. A value type.
class SocketAddress {
 public:
  // Empty, with room for either family, for the kernel to fill.
  SocketAddress() = default;
  // For a socket of `family`. An IPv6 endpoint stays one even for an IPv4 socket, and the kernel
  // then refuses it. `interface` is the zone of a link-local address, else 0.
  SocketAddress(SocketFamily family, const UdpAddress& endpoint, uint32_t interface = 0);

  // nullopt if the address is neither IPv4 nor IPv6.
  [[nodiscard]] std::optional<UdpAddress> endpoint() const;

  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage_); }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t size() const { return size_; }

 private:
  union {
    sockaddr_in6 ipv6;
    sockaddr_in ipv4;
  } storage_{};
  socklen_t size_ = sizeof(storage_);
};

// Conversions to and from the kernel's types. ToInAddr REQUIRES: the address is IPv4 (mapped form).
[[nodiscard]] in_addr ToInAddr(const IpAddress& address);
[[nodiscard]] in6_addr ToIn6Addr(const IpAddress& address);
[[nodiscard]] IpAddress FromInAddr(const in_addr& address);
[[nodiscard]] IpAddress FromIn6Addr(const in6_addr& address);

}  // namespace verbena::fabric
