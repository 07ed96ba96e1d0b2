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

// A TCP connection over which two programs exchange what RDMA needs first: QP numbers, addresses,
// keys. Nothing is authenticated or encrypted. RDMA packets take the same path: the two addresses
// of the connection are the GIDs.
//
// Values are sent as their bytes in memory, so both ends must have the same layout. Thread rule:
// one thread may send while another one receives.
class Rendezvous {
 public:
  // Waits until the connection is established. Fails at once if nothing listens there.
  [[nodiscard]] static ErrorOr<Rendezvous> Connect(const std::string& host, uint16_t port);
  // Takes over a connected socket, and closes it in the destructor.
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
  // Waits for a value of the peer. Fails if the peer has closed the connection.
  template <class T>
  [[nodiscard]] ErrorOr<T> Receive() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (auto done = ReceiveBytes(std::as_writable_bytes(std::span(&value, 1))); !done) {
      return tl::unexpected(std::move(done.error()));
    }
    return value;
  }
  // Sends `ours` and receives the peer's value.
  template <class T>
  [[nodiscard]] ErrorOr<T> Swap(const T& ours) const {
    if (auto done = Send(ours); !done) return tl::unexpected(std::move(done.error()));
    return Receive<T>();
  }

  // Connects `qp` with the queue pair of the peer, which has to call this at the same point. When
  // the call returns, both queue pairs can receive.
  [[nodiscard]] ErrorOr<void> ConnectQp(QueuePair& qp, const ConnectSettings& settings = {}) const;

  // Makes Receive fail if nothing arrives within `limit`.
  void LimitWaits(std::chrono::milliseconds limit) const;
  // Whether Receive would return at once, because the peer has sent something or closed.
  [[nodiscard]] bool HasNews() const;

  [[nodiscard]] Gid local_gid() const;
  [[nodiscard]] Gid remote_gid() const;

 private:
  [[nodiscard]] ErrorOr<void> SendBytes(std::span<const std::byte> bytes) const;
  [[nodiscard]] ErrorOr<void> ReceiveBytes(std::span<std::byte> bytes) const;

  int socket_;
};

// Listens for connections of peers on all addresses of the machine, IPv4 and IPv6.
class RendezvousListener {
 public:
  // Port 0 chooses a free port.
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
  // Whether Accept would return at once.
  [[nodiscard]] bool HasCaller() const;
  // Waits for the next connection.
  [[nodiscard]] ErrorOr<Rendezvous> Accept() const;

 private:
  RendezvousListener(int socket, uint16_t port) : socket_(socket), port_(port) {}

  int socket_;
  uint16_t port_;
};

}  // namespace verbena
