#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "rdmacm/rsocket/wire.h"

namespace verbena::rsockets {

// An IPv4 or IPv6 address with its port, as the kernel and rdma_cm take it. A value type.
class SocketName {
 public:
  // Any address of `family` and any port. REQUIRES: AF_INET or AF_INET6.
  explicit SocketName(int family);
  // nullopt if the family is another, or `length` too short.
  [[nodiscard]] static std::optional<SocketName> From(const sockaddr* address, socklen_t length);
  // The same for an address of rdma_cm, which has the length of its family.
  [[nodiscard]] static std::optional<SocketName> From(const sockaddr* address);
  [[nodiscard]] static SocketName From(const DatagramAddress& address);

  [[nodiscard]] int family() const { return name_.plain.sa_family; }
  [[nodiscard]] bool is_ipv4() const { return family() == AF_INET; }
  [[nodiscard]] const sockaddr* get() const { return &name_.plain; }
  [[nodiscard]] sockaddr* get() { return &name_.plain; }
  [[nodiscard]] socklen_t size() const;
  [[nodiscard]] uint16_t port() const;
  void set_port(uint16_t port);
  [[nodiscard]] IpAddress address() const;
  [[nodiscard]] DatagramAddress datagram_address() const { return {address(), port()}; }
  [[nodiscard]] bool is_any() const;

  // As getsockname: truncates to *length, and sets it to the full length. REQUIRES: not null.
  void CopyTo(sockaddr* to, socklen_t* length) const;

  // Address, port, and the zone of a link-local address.
  friend bool operator==(const SocketName& a, const SocketName& b);
  // Some total order, for maps.
  friend bool operator<(const SocketName& a, const SocketName& b);

 private:
  SocketName() = default;

  union {
    sockaddr plain;
    sockaddr_in ipv4;
    sockaddr_in6 ipv6;
  } name_{.ipv6 = {}};
};

}  // namespace verbena::rsockets
