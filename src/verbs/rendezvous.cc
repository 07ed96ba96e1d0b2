#include "verbena/rendezvous.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "verbs/thrown.h"

namespace verbena {
namespace {

tl::unexpected<Error> SystemFailure(const std::string& what) {
  const int number = errno;
  return tl::unexpected(Error{
      .code = ErrorCode::kSystem, .text = what + ": " + std::strerror(number), .os_error = number});
}

// No Nagle delay: the peer waits for each message.
void SendAtOnce(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool IsReadable(int socket) {
  pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) > 0;
}

template <class Ask>
Gid GidOf(int socket, Ask ask) {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  if (ask(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  char text[INET6_ADDRSTRLEN] = "";
  const void* const from =
      address.sin6_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(&address)->sin_addr)
          : &address.sin6_addr;
  inet_ntop(address.sin6_family, from, text, sizeof text);
  return ParseGid(text).value_or(Gid{});
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

ErrorOr<Addresses> Resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed == 0) return Addresses(found, freeaddrinfo);
  return tl::unexpected(Error{.code = ErrorCode::kSystem,
                              .text = "cannot find " + host + ": " + gai_strerror(failed)});
}

}  // namespace

ErrorOr<Rendezvous> Rendezvous::Connect(const std::string& host, uint16_t port) try {
  const auto addresses = Resolve(host, port);
  if (!addresses) return tl::unexpected(addresses.error());
  for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next) {
    Rendezvous made(socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (connect(made.socket_, at->ai_addr, at->ai_addrlen) != 0) continue;
    SendAtOnce(made.socket_);
    return made;
  }
  return SystemFailure("cannot connect to TCP port " + std::to_string(port) + " of " + host);
} catch (...) {
  return tl::unexpected(verbs::Thrown());
}

Rendezvous::~Rendezvous() {
  if (socket_ >= 0) close(socket_);
}

ErrorOr<void> Rendezvous::SendBytes(std::span<const std::byte> bytes) const try {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return SystemFailure("cannot send to the peer");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return {};
} catch (...) {
  return tl::unexpected(verbs::Thrown());
}

ErrorOr<void> Rendezvous::ReceiveBytes(std::span<std::byte> bytes) const try {
  while (!bytes.empty()) {
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemFailure("cannot receive from the peer");
    if (got == 0) {
      return tl::unexpected(Error{.code = ErrorCode::kSystem,
                                  .text = "the peer has closed the connection",
                                  .os_error = ECONNRESET});
    }
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return {};
} catch (...) {
  return tl::unexpected(verbs::Thrown());
}

ErrorOr<void> Rendezvous::ConnectQp(QueuePair& qp, const ConnectSettings& settings) const try {
  const QpAddress local{qp.number(), local_gid(), Psn{}};
  const auto remote = Swap(local);
  if (!remote) return tl::unexpected(remote.error());
  if (auto done = qp.Connect(local, *remote, settings); !done) return done;
  // Neither side sends before the other can receive.
  const auto ready = Swap(std::byte{1});
  return ready ? ErrorOr<void>() : tl::unexpected(ready.error());
} catch (...) {
  return tl::unexpected(verbs::Thrown());
}

void Rendezvous::LimitWaits(std::chrono::milliseconds limit) const {
  const auto microseconds = std::chrono::microseconds(limit).count();
  const timeval time{.tv_sec = microseconds / 1'000'000, .tv_usec = microseconds % 1'000'000};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

bool Rendezvous::HasNews() const { return IsReadable(socket_); }

Gid Rendezvous::local_gid() const { return GidOf(socket_, getsockname); }

Gid Rendezvous::remote_gid() const { return GidOf(socket_, getpeername); }

ErrorOr<RendezvousListener> RendezvousListener::Listen(uint16_t port) try {
  RendezvousListener made(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), 0);
  const int on = 1;
  const int off = 0;
  setsockopt(made.socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(made.socket_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (bind(made.socket_, generic, size) != 0 || listen(made.socket_, SOMAXCONN) != 0 ||
      getsockname(made.socket_, generic, &size) != 0) {
    return SystemFailure("cannot listen on TCP port " + std::to_string(port));
  }
  made.port_ = ntohs(address.sin6_port);
  return made;
} catch (...) {
  return tl::unexpected(verbs::Thrown());
}

RendezvousListener::~RendezvousListener() {
  if (socket_ >= 0) close(socket_);
}

bool RendezvousListener::HasCaller() const { return IsReadable(socket_); }

ErrorOr<Rendezvous> RendezvousListener::Accept() const try {
  int accepted = -1;
  do {
    accepted = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  } while (accepted < 0 && errno == EINTR);
  if (accepted < 0) return SystemFailure("cannot accept a connection");
  SendAtOnce(accepted);
  return Rendezvous(accepted);
} catch (...) {
  return tl::unexpected(verbs::Thrown());
}

}  // namespace verbena
