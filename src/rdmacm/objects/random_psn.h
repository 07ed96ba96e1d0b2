#pragma once

#include <sys/random.h>

#include <cstdint>

#include "verbena/numbers.h"

namespace verbena::rdmacm {

// The first PSN of a new connection: random, because packets of an earlier connection may still be
// in the network.
[[nodiscard]] inline Psn RandomPsn() {
  uint32_t value = 0;
  static_cast<void>(getrandom(&value, sizeof value, 0));
  return Psn{value & Psn::kMask};
}

}  // namespace verbena::rdmacm
