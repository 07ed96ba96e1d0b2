#include "fabric/socket_address.h"

#include <array>
#include <cstring>

#include "base/byte_reader.h"
#include "base/check.h"

namespace verbena::fabric {

SocketAddress::SocketAddress(SocketFamily family, const UdpAddress& endpoint, uint32_t interface) {
  if (family == SocketFamily::kIpv4 && endpoint.ip.is_ipv4()) {
    storage_.ipv4 = {.sin_family = AF_INET,
                     .sin_port = BigEndian(endpoint.port),
                     .sin_addr = ToInAddr(endpoint.ip),
                     .sin_zero = {}};
    size_ = sizeof(storage_.ipv4);
    return;
  }
  storage_.ipv6 = {.sin6_family = AF_INET6,
                   .sin6_port = BigEndian(endpoint.port),
                   .sin6_flowinfo = 0,
                   .sin6_addr = ToIn6Addr(endpoint.ip),
                   .sin6_scope_id = interface};
  size_ = sizeof(storage_.ipv6);
}

std::optional<UdpAddress> SocketAddress::endpoint() const {
  switch (get()->sa_family) {
    case AF_INET:
      return UdpAddress{FromInAddr(storage_.ipv4.sin_addr), BigEndian(storage_.ipv4.sin_port)};
    case AF_INET6:
      return UdpAddress{FromIn6Addr(storage_.ipv6.sin6_addr), BigEndian(storage_.ipv6.sin6_port)};
    default:
      return std::nullopt;
  }
}

in_addr ToInAddr(const IpAddress& address) {
  DCHECK(address.is_ipv4());
  in_addr result;
  std::memcpy(&result, &address.bytes[IpAddress::kIpv4Offset], sizeof(result));
  return result;
}

in6_addr ToIn6Addr(const IpAddress& address) {
  in6_addr result;
  std::memcpy(&result, address.bytes.data(), sizeof(result));
  return result;
}

IpAddress FromInAddr(const in_addr& address) {
  IpAddress result = IpAddress::FromIpv4(0, 0, 0, 0);
  std::memcpy(&result.bytes[IpAddress::kIpv4Offset], &address, sizeof(address));
  return result;
}

IpAddress FromIn6Addr(const in6_addr& address) {
  IpAddress result;
  std::memcpy(result.bytes.data(), &address, sizeof(address));
  return result;
}

}  // namespace verbena::fabric
