#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace verbena::adapter {

// Which thread has the engine's lock, for those that find it taken.
//
// A page that the tables call present may have left since, and the system fetches it inside the
// copy of the thread that has the lock. Under a userfaultfd of the program's own that takes as long
// as the program takes, and if its handler needs the adapter, for ever. So a thread that wants the
// lock, and finds that one holder has had it for kPatience and sleeps, calls it back
// (SignalGuard::Interrupt): its copy ends as if the page had gone, and the pager brings it.
//
// Leave lets no signal escape to the program: a thread that calls the holder back has counted
// itself before it looks whether the holder is still there, and Leave waits for it.
//
// Thread rule: Enter and Leave by the thread that has the lock; OnTaken by any other.
class LockHolder {
 public:
  // More than the longest pass, and less than any peer waits.
  static constexpr Duration kPatience = Milliseconds(2);
  // A copy must be called back up to three times.
  static constexpr Duration kAgain = Microseconds(100);

  void Enter() {
    [[gnu::tls_model("initial-exec")]] static thread_local const pid_t self = gettid();
    holds_.store(holds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    thread_.store(self, std::memory_order_relaxed);
  }
  void Leave() {
    // Sequentially consistent, as what the callers do: one of the two sees the other.
    thread_.exchange(0);
    if (callers_.load() > 0) [[unlikely]] {
      WaitForCallers();
    }
  }

  // The lock was found taken.
  void OnTaken(Time now) {
    const uint64_t hold = holds_.load(std::memory_order_relaxed);
    if (seen_hold_.load(std::memory_order_relaxed) != hold) {
      seen_hold_.store(hold, std::memory_order_relaxed);
      due_ns_.store((now + kPatience).nanoseconds(), std::memory_order_relaxed);
      return;
    }
    if (now.nanoseconds() >= due_ns_.load(std::memory_order_relaxed)) CallBack(hold, now);
  }

  [[nodiscard]] bool is_held() const { return thread_.load(std::memory_order_relaxed) != 0; }
  // Another number for each time that the lock was taken.
  [[nodiscard]] uint64_t holds() const { return holds_.load(std::memory_order_relaxed); }

 private:
  void CallBack(uint64_t hold, Time now);
  void WaitForCallers();

  std::atomic<pid_t> thread_ = 0;  // 0: none
  std::atomic<uint64_t> holds_ = 0;
  std::atomic<uint32_t> callers_ = 0;
  std::atomic<uint64_t> seen_hold_ = 0;
  std::atomic<int64_t> due_ns_ = 0;
};

}  // namespace verbena::adapter
