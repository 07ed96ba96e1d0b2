#include "fabric/tcp/tcp_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "fabric/socket_address.h"

namespace verbena::fabric {
namespace {

bool SetOption(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// A socket of the address's own family; one of IPv6 serves both.
SocketFamily FamilyOf(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  return domain == AF_INET ? SocketFamily::kIpv4 : SocketFamily::kDualStack;
}

SocketAddress ToSystem(int fd, const CmAddress& address) {
  return {FamilyOf(fd), UdpAddress{address.ip, address.port}, address.interface};
}

CmAddress FromSystem(const SocketAddress& address) {
  const auto found = address.endpoint();
  if (!found) return {};
  CmAddress result{.ip = found->ip, .port = found->port};
  if (result.ip.is_link_local() && !result.ip.is_ipv4()) {
    result.interface = reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_scope_id;
  }
  return result;
}

template <class Call>
CmAddress AddressOf(int fd, Call call) {
  SocketAddress address;
  socklen_t size = address.size();
  if (call(fd, address.get(), &size) != 0) return {};
  return FromSystem(address);
}

TcpTransfer Failed() {
  const bool is_blocked = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  return {.end = is_blocked ? TcpTransfer::End::kBlocked : TcpTransfer::End::kBroken};
}

ssize_t SendBoth(int fd, const std::array<std::span<const std::byte>, 2>& pieces) {
  std::array<iovec, 2> vectors{};
  for (size_t i = 0; i < pieces.size(); ++i) {
    // The system does not write to what it sends from.
    vectors[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = vectors.size();
  return sendmsg(fd, &message, MSG_NOSIGNAL);
}

void Configure(int fd) { SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

}  // namespace

ErrorOr<TcpSocket> TcpSocket::Bind(const CmAddress& address, const TcpBindOptions& options) {
  const int domain = address.ip.is_ipv4() ? AF_INET : AF_INET6;
  TcpSocket tcp(
      FileDescriptor(socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP)));
  if (!tcp.is_open()) return Fail(SystemError("cannot open a TCP socket"));
  Configure(tcp.fd());
  // Otherwise a server could not start again while the system remembers its connections. (For an
  // ephemeral port it would make the system choose ports that other sockets have.)
  if (address.port != 0) SetOption(tcp.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (domain == AF_INET6) {
    SetOption(tcp.fd(), IPPROTO_IPV6, IPV6_V6ONLY, options.own_family_only ? 1 : 0);
  }
  const SocketAddress at = ToSystem(tcp.fd(), address);
  if (bind(tcp.fd(), at.get(), at.size()) != 0) {
    return Fail(SystemError("cannot bind TCP port " + std::to_string(address.port)));
  }
  return tcp;
}

ErrorOr<void> TcpSocket::Listen(uint32_t backlog) const {
  if (listen(fd(), static_cast<int>(std::min<uint32_t>(backlog, SOMAXCONN))) != 0) {
    return Fail(SystemError("cannot listen on a TCP port"));
  }
  return {};
}

ErrorOr<std::optional<TcpSocket>> TcpSocket::Accept() const {
  FileDescriptor file(accept4(fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!file.is_open()) {
    const bool lacks = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    // Other errors are of one connection, which is gone.
    if (!lacks) return std::nullopt;
    return Fail(SystemError("cannot accept a TCP connection"));
  }
  Configure(file.get());
  return TcpSocket(std::move(file));
}

ErrorOr<void> TcpSocket::Connect(const CmAddress& to) const {
  const SocketAddress there = ToSystem(fd(), to);
  if (connect(fd(), there.get(), there.size()) == 0 || errno == EINPROGRESS) return {};
  return Fail(SystemError("cannot connect"));
}

int TcpSocket::ConnectError() const {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

TcpTransfer TcpSocket::Read(std::span<std::byte> into) const {
  const ssize_t count = recv(fd(), into.data(), into.size(), 0);
  if (count < 0) return Failed();
  if (count == 0) return {.end = TcpTransfer::End::kClosed};
  return {.bytes = static_cast<size_t>(count)};
}

TcpTransfer TcpSocket::Write(const std::array<std::span<const std::byte>, 2>& pieces) const {
  const size_t wanted = pieces[0].size() + pieces[1].size();
  // The common case, and cheaper: the system does not have to read a list.
  const ssize_t count = pieces[1].empty()
                            ? send(fd(), pieces[0].data(), pieces[0].size(), MSG_NOSIGNAL)
                            : SendBoth(fd(), pieces);
  if (count < 0) return Failed();
  const auto sent = static_cast<size_t>(count);
  return {.bytes = sent,
          .end = sent < wanted ? TcpTransfer::End::kBlocked : TcpTransfer::End::kNone};
}

void TcpSocket::CloseWrites() const { shutdown(fd(), SHUT_WR); }

// A connection to no address dissolves the present one. (Closing the file would not be enough: a
// forked child may have it, too.)
void TcpSocket::Reset() const {
  const sockaddr none{.sa_family = AF_UNSPEC, .sa_data = {}};
  connect(fd(), &none, sizeof none);
}

CmAddress TcpSocket::local() const { return AddressOf(fd(), getsockname); }
CmAddress TcpSocket::peer() const { return AddressOf(fd(), getpeername); }

}  // namespace verbena::fabric
