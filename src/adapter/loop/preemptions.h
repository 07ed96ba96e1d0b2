#pragma once

#include <sys/resource.h>

#include <utility>

namespace verbena::adapter {

// Whether the calling thread has lost its processor to another thread since it last asked, as far
// as it did not go to sleep. A yield that took long may also be an interrupt's doing, or a
// hypervisor's.
[[nodiscard]] inline bool WasPreempted() {
  static thread_local long seen = 0;
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return std::exchange(seen, usage.ru_nivcsw) != usage.ru_nivcsw;
}

}  // namespace verbena::adapter
