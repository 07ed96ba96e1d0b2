#include "fabric/sctp/sctp_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "fabric/control_messages.h"

namespace verbena::fabric {
namespace {

// What the system has for others, too; it grants what its limits allow.
constexpr int kBufferBytes = 4 << 20;
constexpr size_t kUdpHeader = 8;
constexpr size_t kDatagramMax = 65'507;

bool SetOption(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

template <class Call>
CmAddress AddressOf(int fd, Call call) {
  SocketAddress address;
  socklen_t size = address.size();
  if (call(fd, address.get(), &size) != 0) return {};
  const auto found = address.endpoint();
  return found ? CmAddress{.ip = found->ip, .port = found->port} : CmAddress{};
}

void Configure(int fd, SocketFamily family) {
  SetOption(fd, SOL_SOCKET, SO_RCVBUF, kBufferBytes);
  SetOption(fd, SOL_SOCKET, SO_SNDBUF, kBufferBytes);
  // A path may be narrower than the system knows: then its packets are fragmented.
  if (family == SocketFamily::kIpv4) {
    SetOption(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
    SetOption(fd, IPPROTO_IP, IP_PKTINFO, 1);
  } else {
    SetOption(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
    SetOption(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
  }
}

}  // namespace

ErrorOr<std::shared_ptr<SctpPort>> SctpPort::Open(const CmAddress& at,
                                                  const SctpBindOptions& options) {
  const SocketFamily family = at.ip.is_ipv4() ? SocketFamily::kIpv4 : SocketFamily::kDualStack;
  const int domain = family == SocketFamily::kIpv4 ? AF_INET : AF_INET6;
  FileDescriptor file(socket(domain, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
  if (!file.is_open()) return Fail(SystemError("cannot open a UDP socket for SCTP"));
  Configure(file.get(), family);
  if (domain == AF_INET6) {
    SetOption(file.get(), IPPROTO_IPV6, IPV6_V6ONLY, options.own_family_only ? 1 : 0);
  }
  const SocketAddress address(family, UdpAddress{at.ip, at.port}, at.interface);
  if (bind(file.get(), address.get(), address.size()) != 0) {
    return Fail(SystemError("cannot bind UDP port " + std::to_string(at.port) + " for SCTP"));
  }
  return std::make_shared<SctpPort>(std::move(file), family);
}

CmAddress SctpPort::local() const { return AddressOf(fd(), getsockname); }

ErrorOr<void> SctpPort::ConnectTo(const CmAddress& to) {
  const SocketAddress there(family_, UdpAddress{to.ip, to.port}, to.interface);
  if (connect(fd(), there.get(), there.size()) != 0) {
    return Fail(SystemError("cannot connect"));
  }
  is_connected_ = true;
  return {};
}

SctpPort::Received SctpPort::Receive(std::span<std::byte> into) const {
  SocketAddress from;
  ControlMessages control;
  iovec vector{into.data(), into.size()};
  msghdr message{};
  message.msg_name = from.get();
  message.msg_namelen = from.size();
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = ControlMessages::kCapacity;
  const ssize_t count = recvmsg(fd(), &message, 0);
  if (count < 0) return {.is_refused = errno == ECONNREFUSED};
  const auto peer = from.endpoint();
  // An empty or truncated datagram is no packet.
  const bool is_whole = count > 0 && peer && (message.msg_flags & MSG_TRUNC) == 0;
  if (!is_whole) return {.size = 1};
  const Arrival arrival = DecodeArrival(message);
  const bool is_link_local = peer->ip.is_link_local() && !peer->ip.is_ipv4();
  return {
      .size = static_cast<size_t>(count),
      .path = {
          .peer = *peer, .local = arrival.to, .interface = is_link_local ? arrival.interface : 0}};
}

void SctpPort::Send(const SctpPath& path, std::span<const std::byte> bytes) const {
  iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  SocketAddress to(family_, path.peer, path.interface);
  ControlMessages control;
  if (!is_connected_) {
    message.msg_name = to.get();
    message.msg_namelen = to.size();
    const bool is_usual = path.local == IpAddress{};
    const Route route{.from = path.local,
                      .to = path.peer,
                      .interface = path.interface,
                      .from_is_usual = is_usual};
    control.Encode(family_, route, 0);
    message.msg_control = control.size() == 0 ? nullptr : control.data();
    message.msg_controllen = control.size();
  }
  static_cast<void>(sendmsg(fd(), &message, MSG_NOSIGNAL));
}

size_t SctpPort::DatagramMax(const SctpPath& path) {
  constexpr size_t kLeast = 1280;
  const bool ipv4 = path.peer.ip.is_ipv4();
  const size_t headers = kUdpHeader + (ipv4 ? 20 : 40);
  const FileDescriptor asker(socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress to(ipv4 ? SocketFamily::kIpv4 : SocketFamily::kDualStack, path.peer,
                         path.interface);
  int mtu = 0;
  socklen_t size = sizeof mtu;
  const bool is_known = asker.is_open() && connect(asker.get(), to.get(), to.size()) == 0 &&
                        getsockopt(asker.get(), ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
                                   ipv4 ? IP_MTU : IPV6_MTU, &mtu, &size) == 0;
  const size_t found = is_known ? std::max(static_cast<size_t>(mtu), kLeast) : kLeast;
  return std::min(found - headers, kDatagramMax);
}

}  // namespace verbena::fabric
