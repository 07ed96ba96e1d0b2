#include "rdmacm/objects/address.h"

#include <algorithm>
#include <cstring>

namespace verbena::rdmacm {

socklen_t LengthOf(const sockaddr* address) {
  if (address == nullptr) return 0;
  if (address->sa_family == AF_INET) return sizeof(sockaddr_in);
  return address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

CmAddress FromSockaddr(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in of_four{};
    std::memcpy(&of_four, &address, sizeof of_four);
    return {.ip = IpAddress::FromIpv4(Ipv4Address{ntohl(of_four.sin_addr.s_addr)}),
            .port = ntohs(of_four.sin_port)};
  }
  sockaddr_in6 of_six{};
  std::memcpy(&of_six, &address, sizeof of_six);
  CmAddress out{.port = ntohs(of_six.sin6_port)};
  std::ranges::copy(of_six.sin6_addr.s6_addr, out.ip.bytes.begin());
  if (out.ip.is_link_local()) out.interface = of_six.sin6_scope_id;
  return out;
}

void Store(const CmAddress& address, sockaddr_storage& to) {
  to = {};
  if (const auto ipv4 = address.ip.ipv4()) {
    sockaddr_in of_four{};
    of_four.sin_family = AF_INET;
    of_four.sin_port = htons(address.port);
    of_four.sin_addr.s_addr = htonl(ipv4->value());
    std::memcpy(&to, &of_four, sizeof of_four);
    return;
  }
  sockaddr_in6 of_six{};
  of_six.sin6_family = AF_INET6;
  of_six.sin6_port = htons(address.port);
  of_six.sin6_scope_id = address.interface;
  std::ranges::copy(address.ip.bytes, of_six.sin6_addr.s6_addr);
  std::memcpy(&to, &of_six, sizeof of_six);
}

in_port_t PortOf(const sockaddr& address) {
  return LengthOf(&address) != 0 ? htons(FromSockaddr(address).port) : in_port_t{0};
}

IpAddress WildcardOf(sa_family_t family) {
  return family == AF_INET ? IpAddress::FromIpv4(Ipv4Address{INADDR_ANY}) : IpAddress{};
}

bool IsWildcard(const IpAddress& address) {
  return address.is_unspecified() || address == WildcardOf(AF_INET);
}

IpAddress LoopbackOf(const IpAddress& of_the_same_kind) {
  return of_the_same_kind.is_ipv4() ? IpAddress::FromIpv4(Ipv4Address{INADDR_LOOPBACK})
                                    : IpAddress::Ipv6Loopback();
}

ibv_gid ToGid(const IpAddress& address) {
  ibv_gid gid{};
  std::ranges::copy(address.bytes, gid.raw);
  return gid;
}

}  // namespace verbena::rdmacm
