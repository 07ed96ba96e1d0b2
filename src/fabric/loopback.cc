#include "fabric/loopback.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::fabric {

Loopback::Loopback(const LoopbackLimits& limits)
    : datagrams_max_(limits.datagrams), halves_{Half(limits), Half(limits)} {
  CHECK(limits.datagrams >= 1);
}

std::optional<Reservation> Loopback::Reserve(const Route& route, uint16_t from_port, size_t size) {
  CHECK(size >= 1);
  Half& half = filling();
  if (half.datagrams.size() == datagrams_max_ || size > half.staging.available()) {
    return std::nullopt;
  }
  const std::span<std::byte> bytes = half.staging.Take(size);
  half.datagrams.push_back({.from = {route.from, from_port},
                            .to = route.to.ip,
                            .traffic_class = route.traffic_class,
                            .bytes = bytes});
  return Reservation{.bytes = bytes};
}

void Loopback::CancelLast() {
  Half& half = filling();
  CHECK(!half.datagrams.empty());
  half.staging.GiveBack(half.datagrams.back().bytes.size());
  half.datagrams.pop_back();
}

std::span<const ReceivedDatagram> Loopback::Receive() {
  Half& filled = filling();
  filling_ ^= 1;
  filling().datagrams.clear();
  filling().staging.Clear();
  return filled.datagrams;
}

size_t Loopback::room(size_t size) const {
  return std::min(datagrams_max_ - filling().datagrams.size(),
                  filling().staging.available() / size);
}

}  // namespace verbena::fabric
