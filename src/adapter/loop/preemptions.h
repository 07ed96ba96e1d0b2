#pragma once

#include <sys/resource.h>

#include <utility>

namespace verbena::adapter {

// Whether another thread has preempted the calling thread since its last call (sleeps do not
// count). The duration of a yield does not show this: an interrupt or the hypervisor can also make
// it long.
[[nodiscard]] inline bool WasPreempted() {
  static thread_local long seen = 0;
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return std::exchange(seen, usage.ru_nivcsw) != usage.ru_nivcsw;
}

}  // namespace verbena::adapter
