#include "base/mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace verbena {
namespace {

// The waiting of std::atomic gives the processor away a few times before it sleeps (libstdc++
// does). On a busy machine each time takes as long as the others are allowed to run, milliseconds,
// whenever the lock becomes free meanwhile. Who sleeps is woken when it does.
void Futex(std::atomic<uint32_t>& word, int operation, uint32_t value,
           const timespec* limit = nullptr) {
  static_assert(sizeof(word) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  syscall(SYS_futex, &word, operation, value, limit, nullptr, 0);
}

}  // namespace

// A thread that has slept cannot know that it was the last sleeper, and so leaves a 2 behind.
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
