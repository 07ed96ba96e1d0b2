#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "verbena/error.h"
#include "verbena/gid.h"
#include "verbena/queue_pair.h"

namespace verbena {

// A TCP connection between two programs, for what they must tell each other before they can talk by
// RDMA: QP numbers, addresses, keys. Nothing is authenticated or hidden. Its path is the one that
// packets take, too: its two addresses are the GIDs.
//
// Values go as the bytes that they are: both ends are built alike. Thread rule: one thread may send
// while another one receives.
class Rendezvous {
 public:
  // Waits until the connection is made; fails at once if nothing listens there.
  [[nodiscard]] static ErrorOr<Rendezvous> Connect(const std::string& host, uint16_t port);
  // Of a socket that is connected, which it closes in the end.
  explicit Rendezvous(int socket) : socket_(socket) {}
  Rendezvous(Rendezvous&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Rendezvous& operator=(Rendezvous&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Rendezvous();

  template <class T>
  [[nodiscard]] ErrorOr<void> Send(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return SendBytes(std::as_bytes(std::span(&value, 1)));
  }
  // Waits for the peer; fails when it is gone.
  template <class T>
  [[nodiscard]] ErrorOr<T> Receive() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (auto done = ReceiveBytes(std::as_writable_bytes(std::span(&value, 1))); !done) {
      return tl::unexpected(std::move(done.error()));
    }
    return value;
  }
  // Sends ours and receives the peer's.
  template <class T>
  [[nodiscard]] ErrorOr<T> Swap(const T& ours) const {
    if (auto done = Send(ours); !done) return tl::unexpected(std::move(done.error()));
    return Receive<T>();
  }

  // Connects a queue pair with the one for which the peer calls this at the same point. When it
  // returns both can receive.
  [[nodiscard]] ErrorOr<void> ConnectQp(QueuePair& qp, const ConnectSettings& settings = {}) const;

  // From now on Receive gives up after so long.
  void LimitWaits(std::chrono::milliseconds limit) const;
  // Whether Receive would not wait: the peer has sent something, or is gone.
  [[nodiscard]] bool HasNews() const;

  [[nodiscard]] Gid local_gid() const;
  [[nodiscard]] Gid remote_gid() const;

 private:
  [[nodiscard]] ErrorOr<void> SendBytes(std::span<const std::byte> bytes) const;
  [[nodiscard]] ErrorOr<void> ReceiveBytes(std::span<std::byte> bytes) const;

  int socket_;
};

// Where a program waits for others to connect, on all its addresses, IPv4 and IPv6.
class RendezvousListener {
 public:
  // On a free port if it is 0.
  [[nodiscard]] static ErrorOr<RendezvousListener> Listen(uint16_t port);
  RendezvousListener(RendezvousListener&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}
  RendezvousListener& operator=(RendezvousListener&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(port_, other.port_);
    return *this;
  }
  ~RendezvousListener();

  [[nodiscard]] uint16_t port() const { return port_; }
  // Whether Accept would not wait.
  [[nodiscard]] bool HasCaller() const;
  // Waits for the next one.
  [[nodiscard]] ErrorOr<Rendezvous> Accept() const;

 private:
  RendezvousListener(int socket, uint16_t port) : socket_(socket), port_(port) {}

  int socket_;
  uint16_t port_;
};

}  // namespace verbena
