#pragma once

#include <sched.h>

namespace verbena {

// The number of processors that this process may use. It can be smaller than the machine's:
// containers and taskset restrict a process to some of them.
[[nodiscard]] inline int AllowedProcessors() {
  cpu_set_t allowed;
  // Fails with EINVAL on a machine with more processors than a cpu_set_t has bits.
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return CPU_SETSIZE;
  return CPU_COUNT(&allowed);
}

}  // namespace verbena
