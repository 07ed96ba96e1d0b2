#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"

namespace verbena::adapter {

// Which thread has the engine's lock, for those that find it taken.
//
// A page that the tables call present may have left since, and the system fetches it inside the
// copy of the thread that has the lock. Under a userfaultfd of the program's own that takes as long
// as the program takes, and if its handler needs the adapter, for ever. So a thread that wants the
// lock, and finds that one holder has had it for kPatience and sleeps in a page fault, calls it
// back (SignalGuard::Interrupt): its copy ends as if the page had gone, and the pager brings it.
//
// Pages that do not come seldom do so alone: the holder that was called back meets the next one in
// the same hold or soon after. So after a call the holder is looked at every kAgain, kCallsSoon
// times a hold, and a hold that follows within kRecent gets no more patience than that.
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
  static constexpr Duration kAgain = Microseconds(30);
  static constexpr Duration kRecent = Milliseconds(100);
  // Enough for a burst of 64 packets with a stuck page each. Beyond it the holder sleeps in a way
  // that no call ends, such as for a disk.
  static constexpr uint32_t kCallsSoon = 256;

  void Enter() {
    DCHECK(!is_held());
    holds_.store(holds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    thread_.store(Self(), std::memory_order_relaxed);
  }
  void Leave() {
    DCHECK(is_held_by_caller());
    // Sequentially consistent, as what the callers do: one of the two sees the other.
    thread_.exchange(0);
    if (callers_.load() > 0) [[unlikely]] {
      WaitForCallers();
    }
  }

  // The lock was found taken. Whether to look again within kAgain, and not just some time.
  bool OnTaken(Time now) {
    const uint64_t hold = holds_.load(std::memory_order_relaxed);
    if (seen_hold_.load(std::memory_order_relaxed) != hold) return BePatient(hold, now);
    if (now.nanoseconds() >= due_ns_.load(std::memory_order_relaxed)) CallBack(hold, now);
    const uint32_t calls = calls_.load(std::memory_order_relaxed);
    return calls > 0 && calls <= kCallsSoon;
  }

  [[nodiscard]] bool is_held() const { return thread_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool is_held_by_caller() const {
    return thread_.load(std::memory_order_relaxed) == Self();
  }
  // Another number for each time that the lock was taken.
  [[nodiscard]] uint64_t holds() const { return holds_.load(std::memory_order_relaxed); }

 private:
  static pid_t Self() {
    [[gnu::tls_model("initial-exec")]] static thread_local const pid_t self = gettid();
    return self;
  }
  bool BePatient(uint64_t hold, Time now);
  void CallBack(uint64_t hold, Time now);
  void WaitForCallers();

  std::atomic<pid_t> thread_ = 0;  // 0: none
  std::atomic<uint64_t> holds_ = 0;
  std::atomic<uint32_t> callers_ = 0;
  std::atomic<uint64_t> seen_hold_ = 0;
  std::atomic<uint32_t> calls_ = 0;  // in that hold
  std::atomic<int64_t> due_ns_ = 0;
  std::atomic<int64_t> recent_until_ns_ = 0;  // kRecent after the last call
};

}  // namespace verbena::adapter
