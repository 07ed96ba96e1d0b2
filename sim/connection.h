#pragma once

#include <cstdint>
#include <memory>

#include "base/time.h"
#include "sim/endnode.h"

namespace verbena::sim {

// A reliable connection: two sides. The first failure of either side sets `broken`. A broken
// connection is taken down at `down_at`, and replaced.
struct Connection {
  uint64_t id = 0;
  std::unique_ptr<Side> sides[2];
  bool broken = false;
  bool has_reason = false;  // the cause of a failure is known
  // What the run did to the connection, so that errors are allowed: a program made an illegal
  // request, or revoked a key or memory that its peer uses.
  bool is_provoked = false;
  bool has_lost_memory = false;
  bool is_severed = false;
  bool is_attacked = false;  // by an attacker that knows the PSNs: any packet can be forged
  bool is_spared = false;    // its pages are never evicted
  bool is_replaced = false;  // its replacement was made when an endnode crashed
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
