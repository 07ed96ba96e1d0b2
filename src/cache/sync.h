#pragma once

// What the threads of the cache meet at. tests/interleavings compiles this folder with types that
// let another thread go first, and so runs the code in every order.
#ifdef VERBENA_CACHE_SYNC
#include VERBENA_CACHE_SYNC
#else

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/mutex.h"

namespace verbena::cache {

template <class T>
using SyncAtomic = std::atomic<T>;
using verbena::Mutex;
using verbena::MutexLock;

inline void YieldThread() { sched_yield(); }

// Threads are numbered as they come.
[[nodiscard]] inline uint32_t ThreadNumber() {
  static std::atomic<uint32_t> next = 0;
  [[gnu::tls_model("initial-exec")]] static thread_local const uint32_t number =
      next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace verbena::cache

#endif
