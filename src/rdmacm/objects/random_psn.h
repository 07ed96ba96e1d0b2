#pragma once

#include <sys/random.h>

#include <cstdint>

#include "verbena/numbers.h"

namespace verbena::rdmacm {

// Where the packets of a new connection begin: not where those of an earlier one were, which may
// still be on their way.
[[nodiscard]] inline Psn RandomPsn() {
  uint32_t value = 0;
  static_cast<void>(getrandom(&value, sizeof value, 0));
  return Psn{value & Psn::kMask};
}

}  // namespace verbena::rdmacm
