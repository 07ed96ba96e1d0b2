#pragma once

#include <cstdint>
#include <memory>

#include "base/time.h"
#include "sim/endnode.h"

namespace verbena::sim {

// Two sides. `broken` from the first failure of either on: then it goes down, and another takes its
// place.
struct Connection {
  uint64_t id = 0;
  std::unique_ptr<Side> sides[2];
  bool broken = false;
  bool has_reason = false;  // something told why
  // What was done to it, and allows errors: a program asked for what it may not have, or took a
  // key or memory away under its peer.
  bool is_provoked = false;
  bool has_lost_memory = false;
  bool is_severed = false;
  bool is_attacked = false;  // by an attacker that knows the sequence numbers: all may be forged
  bool is_spared = false;    // its pages are never taken
  bool is_replaced = false;  // by another that was made as soon as an end had crashed
  Time down_at = Time::Never();

  [[nodiscard]] Side& side(int i) { return *sides[i]; }
  [[nodiscard]] bool has_overflowed() const {
    return sides[0]->has_overflowed() || sides[1]->has_overflowed();
  }
  void Break(Time now, Duration grace) {
    if (broken) return;
    broken = true;
    down_at = now + grace;
  }
};

}  // namespace verbena::sim
