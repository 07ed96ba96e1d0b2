#include "base/mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace verbena {
namespace {

// The raw system call instead of std::atomic::wait, which yields the processor a few times before
// it sleeps (in libstdc++). On a busy machine each yield lasts as long as the other threads are
// allowed to run, which is milliseconds, even if the lock becomes free meanwhile. A thread that
// sleeps on the futex is woken when the lock becomes free.
void Futex(std::atomic<uint32_t>& word, int operation, uint32_t value,
           const timespec* limit = nullptr) {
  static_assert(sizeof(word) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  syscall(SYS_futex, &word, operation, value, limit, nullptr, 0);
}

}  // namespace

// A thread that has slept cannot know whether other threads still sleep. So it takes the lock with
// 2, and its Unlock wakes one more thread.
void Mutex::LockSlowly() {
  while (word_.exchange(2, std::memory_order_acquire) != 0) Futex(word_, FUTEX_WAIT_PRIVATE, 2);
}

bool Mutex::TryLockFor(Duration limit) {
  if (word_.exchange(2, std::memory_order_acquire) == 0) return true;
  constexpr int64_t kSecond = Seconds(1).nanoseconds();
  const timespec wait{.tv_sec = limit.nanoseconds() / kSecond,
                      .tv_nsec = limit.nanoseconds() % kSecond};
  Futex(word_, FUTEX_WAIT_PRIVATE, 2, &wait);
  return word_.exchange(2, std::memory_order_acquire) == 0;
}

void Mutex::WakeOne() { Futex(word_, FUTEX_WAKE_PRIVATE, 1); }

}  // namespace verbena
