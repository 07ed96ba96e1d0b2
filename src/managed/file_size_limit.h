#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "base/check.h"

namespace verbena::managed {

// Whether a file of ours may be so long (ulimit -f). Asked before one grows: the system would not
// only refuse it but end the program, by SIGXFSZ.
inline bool MayBeFileOf(uint64_t size) {
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  return size <= limit.rlim_cur;
}

}  // namespace verbena::managed
