#include "fabric/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "base/clock.h"
#include "fabric/file_descriptor.h"
#include "fabric/network_cache.h"
#include "fabric/socket_address.h"

namespace verbena::fabric {
namespace {

std::optional<IpAddress> AddressOf(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    return FromInAddr(reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
  }
  if (address->sa_family == AF_INET6) {
    return FromIn6Addr(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  }
  return std::nullopt;
}

// 0 if the interface has disappeared meanwhile.
uint32_t MtuOf(int fd, const char* interface_name) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface_name, IFNAMSIZ - 1);
  return ioctl(fd, SIOCGIFMTU, &request) == 0 ? static_cast<uint32_t>(request.ifr_mtu) : 0;
}
// Not if_nametoindex, which opens its own socket, and returns 0 if it cannot.
uint32_t IndexOf(int fd, const char* interface_name) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface_name, IFNAMSIZ - 1);
  return ioctl(fd, SIOCGIFINDEX, &request) == 0 ? static_cast<uint32_t>(request.ifr_ifindex) : 0;
}

auto OrderOf(const LocalAddress& a) {
  return std::tuple(a.loopback, a.interface_index, !a.ip.is_ipv4(), a.ip);
}

struct SharedCache {
  std::mutex lock;
  NetworkCache cache;
};

SharedCache& TheCache() {
  static SharedCache& cache = *new SharedCache;  // threads may ask while the process ends
  return cache;
}

// Calls `ask` with the cache of the process. A thread that would have to wait gets `otherwise`, and
// so does a child that was forked while another thread had the lock.
template <class Ask, class Otherwise>
auto WithCache(const Ask& ask, const Otherwise& otherwise) {
  SharedCache& shared = TheCache();
  const std::unique_lock<std::mutex> locked(shared.lock, std::try_to_lock);
  return locked.owns_lock() ? ask(shared.cache) : otherwise();
}

}  // namespace

ErrorOr<std::vector<LocalAddress>> LocalAddresses() {
  return WithCache([](NetworkCache& cache) { return cache.Addresses(Now()); },
                   &asked::LocalAddresses);
}

std::optional<IpAddress> UsualSource(const IpAddress& to) {
  return WithCache([&](NetworkCache& cache) { return cache.SourceFor(to, Now()); },
                   [&] { return asked::UsualSource(to); });
}

ErrorOr<uint32_t> PathMtu(const Route& route) {
  return WithCache([&](NetworkCache& cache) { return cache.Mtu(route, Now()); },
                   [&] { return asked::PathMtu(route); });
}

namespace asked {

ErrorOr<std::vector<LocalAddress>> LocalAddresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return Fail(SystemError("getifaddrs"));
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first, &freeifaddrs);
  const FileDescriptor asker(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!asker.is_open()) return Fail(SystemError("cannot open a UDP socket"));

  std::vector<LocalAddress> found;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const auto ip = AddressOf(entry->ifa_addr);
    if (!ip) continue;
    constexpr unsigned kWorking = IFF_UP | IFF_RUNNING;
    found.push_back({.ip = *ip,
                     .interface_name = entry->ifa_name,
                     .interface_index = IndexOf(asker.get(), entry->ifa_name),
                     .mtu = MtuOf(asker.get(), entry->ifa_name),
                     .up = (entry->ifa_flags & kWorking) == kWorking,
                     .loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  std::ranges::sort(found, {}, OrderOf);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::optional<IpAddress> UsualSource(const IpAddress& to) {
  const bool ipv4 = to.is_ipv4();
  const FileDescriptor asker(socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  constexpr uint16_t kAnyPort = 1;  // nothing is sent
  const SocketAddress there(ipv4 ? SocketFamily::kIpv4 : SocketFamily::kDualStack, {to, kAnyPort});
  if (!asker.is_open() || connect(asker.get(), there.get(), there.size()) != 0) return std::nullopt;
  sockaddr_storage here{};
  socklen_t size = sizeof(here);
  auto* const name = reinterpret_cast<sockaddr*>(&here);
  return getsockname(asker.get(), name, &size) == 0 ? AddressOf(name) : std::nullopt;
}

ErrorOr<uint32_t> PathMtu(const Route& route) {
  const bool ipv4 = route.to.ip.is_ipv4();
  const auto family = ipv4 ? SocketFamily::kIpv4 : SocketFamily::kDualStack;
  const FileDescriptor asker(socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!asker.is_open()) return Fail(SystemError("cannot open a UDP socket"));
  const SocketAddress from(family, {route.from, 0}, route.interface);
  if (bind(asker.get(), from.get(), from.size()) != 0) {
    return Fail(SystemError("cannot send from " + ToString(route.from)));
  }
  const SocketAddress to(family, route.to, route.interface);
  if (connect(asker.get(), to.get(), to.size()) != 0) {
    return Fail(SystemError("no way to " + ToString(route.to.ip)));
  }
  int mtu = 0;
  socklen_t size = sizeof(mtu);
  if (getsockopt(asker.get(), ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_MTU : IPV6_MTU, &mtu,
                 &size) != 0) {
    return Fail(SystemError("path MTU to " + ToString(route.to.ip)));
  }
  return static_cast<uint32_t>(mtu);
}

}  // namespace asked
}  // namespace verbena::fabric
