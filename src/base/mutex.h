#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

// Macros for clang's thread-safety analysis, which checks at compile time that a guarded field is
// touched only under its lock. They expand to nothing for other compilers.
#if defined(__clang__)
#define VERBENA_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define VERBENA_THREAD_ATTRIBUTE(x)
#endif

// On a class: its objects are locks, or hold a lock for as long as they live.
#define VERBENA_CAPABILITY(name) VERBENA_THREAD_ATTRIBUTE(capability(name))
#define VERBENA_SCOPED_CAPABILITY VERBENA_THREAD_ATTRIBUTE(scoped_lockable)

// On a field: the field, or what it points to, is touched only under the lock.
#define VERBENA_GUARDED_BY(mutex) VERBENA_THREAD_ATTRIBUTE(guarded_by(mutex))
#define VERBENA_PT_GUARDED_BY(mutex) VERBENA_THREAD_ATTRIBUTE(pt_guarded_by(mutex))

// On a mutex: the order in which locks are taken.
#define VERBENA_ACQUIRED_BEFORE(...) VERBENA_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))
#define VERBENA_ACQUIRED_AFTER(...) VERBENA_THREAD_ATTRIBUTE(acquired_after(__VA_ARGS__))

// On a function: the caller holds the lock; the caller does not hold it; the function acquires it,
// releases it, or tries to.
#define VERBENA_REQUIRES(...) VERBENA_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define VERBENA_EXCLUDES(...) VERBENA_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define VERBENA_ACQUIRE(...) VERBENA_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define VERBENA_RELEASE(...) VERBENA_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define VERBENA_TRY_ACQUIRE(...) VERBENA_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
// On a function that checks at run time that the caller holds the lock.
#define VERBENA_ASSERT_HELD(...) VERBENA_THREAD_ATTRIBUTE(assert_capability(__VA_ARGS__))
#define VERBENA_RETURN_CAPABILITY(x) VERBENA_THREAD_ATTRIBUTE(lock_returned(x))

// On a lambda that is called at once, by a thread that holds the lock. The analysis does not know
// this of lambdas.
#define VERBENA_UNDER_CALLERS_LOCK VERBENA_THREAD_ATTRIBUTE(no_thread_safety_analysis)

// On a function whose locking the analysis cannot follow; say why beside it.
#define VERBENA_NO_THREAD_SAFETY_ANALYSIS VERBENA_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace verbena {

// A mutex known to the analysis, for the data path: uncontended it costs ten instructions and no
// call, where std::mutex costs sixty. Not recursive. Any thread can use it.
//
// The word is 0: free; 1: held; 2: held, and a thread may be asleep.
class VERBENA_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() VERBENA_ACQUIRE() {
    if (!TryLock()) [[unlikely]] {
      LockSlowly();
    }
  }
  void Unlock() VERBENA_RELEASE() {
    if (word_.exchange(0, std::memory_order_release) == 2) [[unlikely]] {
      WakeOne();
    }
  }
  [[nodiscard]] bool TryLock() VERBENA_TRY_ACQUIRE(true) {
    uint32_t free = 0;
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  // Sleeps for `limit` at most. False if the mutex is still held then.
  [[nodiscard]] bool TryLockFor(Duration limit) VERBENA_TRY_ACQUIRE(true);

 private:
  void LockSlowly();
  void WakeOne();

  std::atomic<uint32_t> word_ = 0;
};

// Holds a mutex from its construction to its destruction.
class VERBENA_SCOPED_CAPABILITY MutexLock {
 public:
  [[nodiscard]] explicit MutexLock(Mutex& mutex) VERBENA_ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() VERBENA_RELEASE() { mutex_.Unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace verbena
