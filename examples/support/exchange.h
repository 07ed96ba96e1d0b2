#pragma once

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "verbena/gid.h"

// What two programs must tell each other before they can talk by RDMA goes over a TCP connection.

namespace examples {

// A file that is closed in the end.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) close(fd_);
  }

  [[nodiscard]] int get() const { return fd_; }

  [[nodiscard]] bool IsReadable() const {
    pollfd entry{fd_, POLLIN, 0};
    return poll(&entry, 1, 0) > 0;
  }

 private:
  int fd_;
};

// A connection to the other program. Values go as the bytes that they are: both ends are programs
// like this one.
class Exchange {
 public:
  explicit Exchange(File socket) : socket_(std::move(socket)) {
    const int on = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  // nullopt if no server listens there.
  [[nodiscard]] static std::optional<Exchange> Connect(const std::string& host, uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
      return std::nullopt;
    }
    std::optional<Exchange> made;
    for (const addrinfo* at = found; at != nullptr && !made; at = at->ai_next) {
      File file(socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
      if (connect(file.get(), at->ai_addr, at->ai_addrlen) == 0) made.emplace(std::move(file));
    }
    freeaddrinfo(found);
    return made;
  }

  template <class T>
  [[nodiscard]] bool Send(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return send(socket_.get(), &value, sizeof value, MSG_NOSIGNAL) == ssize_t{sizeof value};
  }

  // nullopt if the other program is gone.
  template <class T>
  [[nodiscard]] std::optional<T> Receive() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    if (recv(socket_.get(), &value, sizeof value, MSG_WAITALL) != ssize_t{sizeof value}) {
      return std::nullopt;
    }
    return value;
  }

  // Ours goes and the other's comes.
  template <class T>
  [[nodiscard]] std::optional<T> Swap(const T& ours) const {
    if (!Send(ours)) return std::nullopt;
    return Receive<T>();
  }

  // From now on Receive gives up after so long.
  void LimitWaits(std::chrono::milliseconds limit) const {
    const auto microseconds = std::chrono::microseconds(limit).count();
    const timeval time{.tv_sec = microseconds / 1'000'000, .tv_usec = microseconds % 1'000'000};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  }

  // Whether the other program has sent something, or closed it, or ended.
  [[nodiscard]] bool HasNews() const { return socket_.IsReadable(); }

  // The address of this end, by which the other one reaches this machine.
  [[nodiscard]] verbena::Gid LocalGid() const {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    char text[INET6_ADDRSTRLEN] = "";
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    if (address.ss_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(&address)->sin_addr, text, sizeof text);
    } else {
      inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr, text, sizeof text);
    }
    return verbena::ParseGid(text).value_or(verbena::Gid{});
  }

 private:
  File socket_;
};

// Where a server waits for those who connect, by IPv4 and IPv6.
class Listener {
 public:
  // On a free port if 0. nullopt if it is taken.
  [[nodiscard]] static std::optional<Listener> Listen(uint16_t port) {
    File file(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1, off = 0;
    setsockopt(file.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(file.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    if (bind(file.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(file.get(), SOMAXCONN) != 0) {
      return std::nullopt;
    }
    socklen_t size = sizeof address;
    getsockname(file.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return Listener(std::move(file), ntohs(address.sin6_port));
  }

  [[nodiscard]] uint16_t port() const { return port_; }
  [[nodiscard]] bool HasCaller() const { return socket_.IsReadable(); }

  // Waits for the next one.
  [[nodiscard]] Exchange Accept() const {
    return Exchange(File(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  }

 private:
  Listener(File socket, uint16_t port) : socket_(std::move(socket)), port_(port) {}

  File socket_;
  uint16_t port_;
};

}  // namespace examples
