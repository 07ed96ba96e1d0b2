#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "fabric/datagram.h"
#include "fabric/staging.h"

namespace verbena::fabric {

struct LoopbackLimits {
  size_t datagrams = 256;
  size_t bytes = 512 << 10;
};

// Carries datagrams between queue pairs of one process without a socket. It is used like a socket:
// reserve and write, then receive; responses may be reserved while received datagrams are still in
// use.
//
// Invariant: one of the two halves is being filled, and the receiver uses the other; each datagram
// of a half refers to the bytes of that half. Memory is allocated in the constructor only. One
// thread at a time.
class Loopback {
 public:
  explicit Loopback(const LoopbackLimits& limits);
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  // Room for the next datagram, to be written before the next call; nullopt if there is none before
  // the next Receive. `from_port` is the source port.
  [[nodiscard]] std::optional<Reservation> Reserve(const Route& route, uint16_t from_port,
                                                   size_t size);

  // Undoes the last Reserve: once for each, before any other call.
  void CancelLast();

  // The datagrams reserved since the last call, in order. Valid until the next call.
  [[nodiscard]] std::span<const ReceivedDatagram> Receive();

  // How many datagrams of up to `size` bytes fit before the next Receive.
  [[nodiscard]] size_t room(size_t size) const;
  [[nodiscard]] bool empty() const { return filling().datagrams.empty(); }

 private:
  struct Half {
    explicit Half(const LoopbackLimits& limits) : staging(limits.bytes) {
      datagrams.reserve(limits.datagrams);
    }

    Staging staging;
    std::vector<ReceivedDatagram> datagrams;
  };

  Half& filling() { return halves_[filling_]; }
  const Half& filling() const { return halves_[filling_]; }

  const size_t datagrams_max_;
  std::array<Half, 2> halves_;
  size_t filling_ = 0;
};

}  // namespace verbena::fabric
