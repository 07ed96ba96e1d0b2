#include "cli/rendezvous.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/json.h"

namespace verbena::cli {
namespace {

// The limit of a line, so that a peer that is not verbena cannot fill the memory.
constexpr size_t kLineMax = size_t{1} << 20;

tl::unexpected<Error> PeerGone() {
  return tl::unexpected(Error{.code = ErrorCode::kSystem,
                              .text = "the other end closed the connection; its own output says "
                                      "why"});
}

using Naming = int (*)(int, sockaddr*, socklen_t*);

// An IPv4 address in its IPv6-mapped form, as in a GID.
sockaddr_in6 AddressOf(int fd, Naming naming) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  sockaddr_in6 address{};
  if (naming(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return address;
  if (storage.ss_family == AF_INET6) {
    std::memcpy(&address, &storage, sizeof(address));
    return address;
  }
  sockaddr_in old{};
  std::memcpy(&old, &storage, sizeof(old));
  address.sin6_port = old.sin_port;
  address.sin6_addr.s6_addr[10] = 0xFF;
  address.sin6_addr.s6_addr[11] = 0xFF;
  std::memcpy(&address.sin6_addr.s6_addr[12], &old.sin_addr, sizeof(old.sin_addr));
  return address;
}

Gid GidOf(int fd, Naming naming) {
  const sockaddr_in6 address = AddressOf(fd, naming);
  Gid gid;
  std::ranges::copy(address.sin6_addr.s6_addr, gid.bytes.begin());
  return gid;
}

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// One socket for both families, or for IPv4 alone if there is no IPv6.
File ListenOn(uint16_t port) {
  const int on = 1;
  const int off = 0;
  File file(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(port);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  const auto* address = reinterpret_cast<const sockaddr*>(&any6);
  socklen_t size = sizeof(any6);
  if (file.get() < 0) {
    file = File(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address = reinterpret_cast<const sockaddr*>(&any);
    size = sizeof(any);
  } else {
    setsockopt(file.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  setsockopt(file.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(file.get(), address, size) != 0 || listen(file.get(), SOMAXCONN) != 0) return File();
  return file;
}

}  // namespace

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) close(fd_);
}

int File::Release() { return std::exchange(fd_, -1); }

ErrorOr<JsonRendezvous> JsonRendezvous::Meet(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    return tl::unexpected(Error{.code = ErrorCode::kInvalid,
                                .text = "cannot find " + host + ": " + gai_strerror(failure)});
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    File file(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (file.get() < 0 || connect(file.get(), one->ai_addr, one->ai_addrlen) != 0) continue;
    SendAtOnce(file.get());
    return JsonRendezvous(std::move(file));
  }
  const std::string server = "the server at " + host + ", TCP port " + std::to_string(port);
  if (errno == ENETUNREACH) {
    return Fail(SystemError("cannot reach " + server +
                            ": no network interface leads there (verbena devices shows those that "
                            "are up)"));
  }
  return Fail(SystemError("cannot reach " + server + "; start the server there first"));
}

ErrorOr<void> JsonRendezvous::Tell(const nlohmann::json& message) {
  const std::string line = ToLine(message) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t sent = send(file_.get(), &line[done], line.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return PeerGone();
    done += static_cast<size_t>(sent);
  }
  return {};
}

ErrorOr<nlohmann::json> JsonRendezvous::Hear() {
  size_t end = heard_.find('\n');
  while (end == std::string::npos && heard_.size() < kLineMax) {
    std::array<char, 4'096> part{};
    const ssize_t length = recv(file_.get(), part.data(), part.size(), 0);
    if (length < 0 && errno == EINTR && Interrupted())
      return Fail(SystemError("waiting for the peer"));
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return PeerGone();
    heard_.append(part.data(), static_cast<size_t>(length));
    end = heard_.find('\n');
  }
  const std::string line = heard_.substr(0, end);
  auto message = FromText(line);
  if (end == std::string::npos || !message.is_object()) {
    return tl::unexpected(
        Error{.code = ErrorCode::kInvalid,
              .text = "the other end does not speak the protocol of verbena ping and bench"});
  }
  heard_.erase(0, end + 1);
  return message;
}

bool JsonRendezvous::HasNews() const {
  if (heard_.find('\n') != std::string::npos) return true;
  pollfd file{.fd = file_.get(), .events = POLLIN, .revents = 0};
  return poll(&file, 1, 0) > 0;
}

void JsonRendezvous::WaitForNews() const {
  pollfd file{.fd = file_.get(), .events = POLLIN, .revents = 0};
  while (!Interrupted() && heard_.find('\n') == std::string::npos && poll(&file, 1, -1) <= 0) {
  }
}

Gid JsonRendezvous::own_gid() const { return GidOf(file_.get(), getsockname); }

Gid JsonRendezvous::peer_gid() const { return GidOf(file_.get(), getpeername); }

uint32_t JsonRendezvous::interface() const {
  return AddressOf(file_.get(), getsockname).sin6_scope_id;
}

ErrorOr<Listener> Listener::Open(uint16_t port) {
  File file = ListenOn(port);
  if (file.get() < 0) {
    return Fail(SystemError("cannot listen on TCP port " + std::to_string(port) +
                            " (choose another one with --port)"));
  }
  const uint16_t got = ntohs(AddressOf(file.get(), getsockname).sin6_port);
  return Listener(std::move(file), got);
}

std::optional<JsonRendezvous> Listener::Accept(std::optional<double> seconds) const {
  while (!Interrupted()) {
    pollfd file{.fd = file_.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&file, 1, seconds ? static_cast<int>(*seconds * 1'000) : -1);
    if (ready == 0) return std::nullopt;
    if (ready < 0) continue;
    File accepted(accept4(file_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (accepted.get() < 0) continue;
    SendAtOnce(accepted.get());
    return JsonRendezvous(std::move(accepted));
  }
  return std::nullopt;
}

}  // namespace verbena::cli
