#pragma once

#include <sched.h>

namespace verbena {

// How many processors this process may use, which may be fewer than the machine has: containers and
// taskset give it some of them.
[[nodiscard]] inline int AllowedProcessors() {
  cpu_set_t allowed;
  // Refused where a machine has more processors than the set has room for.
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return CPU_SETSIZE;
  return CPU_COUNT(&allowed);
}

}  // namespace verbena
