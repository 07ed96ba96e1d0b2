#include "rdmacm/rsocket/socket_name.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/byte_reader.h"
#include "base/check.h"

namespace verbena::rsockets {

SocketName::SocketName(int family) {
  CHECK(family == AF_INET || family == AF_INET6);
  name_.ipv6.sin6_family = static_cast<sa_family_t>(family);
}

std::optional<SocketName> SocketName::From(const sockaddr* address, socklen_t length) {
  if (address == nullptr || length < sizeof(sa_family_t)) return std::nullopt;
  SocketName name;
  const bool is_ipv4 = address->sa_family == AF_INET;
  if (!is_ipv4 && address->sa_family != AF_INET6) return std::nullopt;
  const std::size_t size = is_ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (length < size) return std::nullopt;
  std::memcpy(&name.name_, address, size);
  return name;
}

std::optional<SocketName> SocketName::From(const sockaddr* address) {
  return From(address, sizeof(sockaddr_in6));
}

SocketName SocketName::From(const DatagramAddress& address) {
  const auto ipv4 = address.address.ipv4();
  SocketName name(ipv4 ? AF_INET : AF_INET6);
  if (ipv4) {
    name.name_.ipv4.sin_addr.s_addr = BigEndian(ipv4->value());
  } else {
    std::memcpy(&name.name_.ipv6.sin6_addr, address.address.bytes.data(), 16);
  }
  name.set_port(address.port);
  return name;
}

socklen_t SocketName::size() const {
  return is_ipv4() ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

uint16_t SocketName::port() const {
  return BigEndian(is_ipv4() ? name_.ipv4.sin_port : name_.ipv6.sin6_port);
}

void SocketName::set_port(uint16_t port) {
  (is_ipv4() ? name_.ipv4.sin_port : name_.ipv6.sin6_port) = BigEndian(port);
}

IpAddress SocketName::address() const {
  if (is_ipv4()) return IpAddress::FromIpv4(Ipv4Address(BigEndian(name_.ipv4.sin_addr.s_addr)));
  IpAddress address;
  std::memcpy(address.bytes.data(), &name_.ipv6.sin6_addr, address.bytes.size());
  return address;
}

bool SocketName::is_any() const {
  return is_ipv4() ? name_.ipv4.sin_addr.s_addr == INADDR_ANY : address().is_unspecified();
}

void SocketName::CopyTo(sockaddr* to, socklen_t* length) const {
  std::memcpy(to, &name_, std::min(*length, size()));
  *length = size();
}

namespace {

auto KeyOf(const SocketName& name) {
  const uint32_t zone =
      name.is_ipv4() ? 0 : reinterpret_cast<const sockaddr_in6*>(name.get())->sin6_scope_id;
  return std::tuple(name.family(), name.address(), name.port(), zone);
}

}  // namespace

bool operator==(const SocketName& a, const SocketName& b) { return KeyOf(a) == KeyOf(b); }
bool operator<(const SocketName& a, const SocketName& b) { return KeyOf(a) < KeyOf(b); }

}  // namespace verbena::rsockets
