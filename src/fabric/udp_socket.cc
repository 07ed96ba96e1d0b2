#include "fabric/udp_socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <utility>

namespace verbena::fabric {
namespace {

struct Setting {
  int level;
  int option;
  int value;
  const char* name;
};

// Without one of these the ICRC of a datagram could not be predicted.
constexpr Setting kIpv4Settings[] = {
    {IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO, "IP_MTU_DISCOVER"},
};
constexpr Setting kIpv6Settings[] = {
    {IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY"},
    {IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO, "IPV6_MTU_DISCOVER"},
    {IPPROTO_IPV6, IPV6_DONTFRAG, 1, "IPV6_DONTFRAG"},
};

constexpr int kIpv6MulticastAll = 29;  // IPV6_MULTICAST_ALL, which older headers lack

bool Set(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

template <size_t kCount>
ErrorOr<void> SetAll(int fd, const Setting (&settings)[kCount]) {
  for (const Setting& s : settings) {
    if (!Set(fd, s.level, s.option, s.value)) return Fail(SystemError(s.name));
  }
  return {};
}

FileDescriptor NewSocket(int domain) {
  return FileDescriptor(socket(domain, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

std::string KibibytesOf(uint32_t bytes) { return std::to_string(bytes / 1024) + " KiB"; }

}  // namespace

ErrorOr<UdpSocket> UdpSocket::Open(const UdpSocketOptions& options) {
  FileDescriptor file;
  SocketFamily family = SocketFamily::kDualStack;
  if (options.ipv6) file = NewSocket(AF_INET6);
  if (!file.is_open()) {
    file = NewSocket(AF_INET);
    family = SocketFamily::kIpv4;
  }
  if (!file.is_open()) return Fail(SystemError("cannot open a UDP socket"));

  UdpSocket udp(std::move(file), family);
  if (auto done = udp.Configure(); !done) return Fail(std::move(done.error()));
  if (options.offloads) udp.EnableOffloads();
  udp.SizeBuffer(SO_SNDBUF, options.send_buffer_bytes, "send", "net.core.wmem_max");
  udp.SizeBuffer(SO_RCVBUF, options.receive_buffer_bytes, "receive", "net.core.rmem_max");
  return udp;
}

ErrorOr<void> UdpSocket::Configure() {
  if (auto done = SetAll(fd(), kIpv4Settings); !done) return done;
  if (family_ == SocketFamily::kDualStack) {
    if (auto done = SetAll(fd(), kIpv6Settings); !done) return done;
  }
  // RoCEv2 needs no checksum, because of the ICRC, and some senders (the kernel's) omit it.
  if (family_ == SocketFamily::kDualStack) Set(fd(), IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
  // Does not receive groups that other sockets of this machine have joined.
  Set(fd(), IPPROTO_IP, IP_MULTICAST_ALL, 0);
  Set(fd(), IPPROTO_IPV6, kIpv6MulticastAll, 0);
  return {};
}

void UdpSocket::ReportHeaders() {
  Set(fd(), IPPROTO_IP, IP_RECVTOS, 1);
  if (family_ == SocketFamily::kDualStack) {
    Set(fd(), IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
    Set(fd(), IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
  } else {
    Set(fd(), IPPROTO_IP, IP_PKTINFO, 1);
  }
}

void UdpSocket::EnableOffloads() {
  // Size 0 has no effect, because the size comes with each message: tests whether the option is
  // known.
  segmentation_ = Set(fd(), IPPROTO_UDP, UDP_SEGMENT, 0);
  coalescing_ = Set(fd(), IPPROTO_UDP, UDP_GRO, 1);
}

void UdpSocket::SizeBuffer(int option, uint32_t wanted, const char* name, const char* limit) {
  Set(fd(), SOL_SOCKET, option, static_cast<int>(wanted));
  int doubled = 0;  // the kernel reports twice the size, for its own overhead
  socklen_t size = sizeof(doubled);
  getsockopt(fd(), SOL_SOCKET, option, &doubled, &size);
  const uint32_t granted = static_cast<uint32_t>(doubled) / 2;
  if (granted >= wanted) return;
  warnings_.push_back("the kernel grants a UDP " + std::string(name) + " buffer of " +
                      KibibytesOf(granted) + " instead of " + KibibytesOf(wanted) +
                      ", so bursts may be lost; to raise it: sysctl -w " + limit + "=" +
                      std::to_string(wanted));
}

ErrorOr<void> UdpSocket::Bind(uint16_t port) {
  const IpAddress any =
      family_ == SocketFamily::kIpv4 ? IpAddress::FromIpv4(0, 0, 0, 0) : IpAddress{};
  const SocketAddress address(family_, {any, port});
  if (bind(fd(), address.get(), address.size()) != 0) {
    return Fail(SystemError("cannot bind UDP port " + std::to_string(port)));
  }
  return {};
}

}  // namespace verbena::fabric
