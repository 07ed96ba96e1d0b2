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

// Carries datagrams between queue pairs of one process without a socket. It has the shape of a
// socket's bursts: reserve and write, then receive; what is received may be answered while it is
// still in use.
//
// Invariant: of the two halves one is being filled and the other is in the receiver's hands; each
// datagram of a half views that half's own bytes. Memory is allocated in the constructor only. One
// thread at a time.
class Loopback {
 public:
  explicit Loopback(const LoopbackLimits& limits);
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  // A place for the next datagram, to be written before the next call; nullopt when there is no
  // room before the next Receive. The sender has `from_port`.
  [[nodiscard]] std::optional<Reservation> Reserve(const Route& route, uint16_t from_port,
                                                   size_t size);

  // Takes the last Reserve back. Once for each, before the next call.
  void CancelLast();

  // What was reserved since the last call, in order. Valid until the next call.
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
