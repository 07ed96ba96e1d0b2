#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"

namespace verbena::adapter {

// Which thread holds the engine's lock, for threads that find it taken.
//
// A page can leave memory although the tables mark it present. Then the kernel pages it in inside
// the copy of the thread that holds the lock. Under a userfaultfd of the program this takes as long
// as the program's handler takes, and for ever if the handler needs the adapter. So a thread that
// wants the lock, and finds that the holder has had it for kPatience and sleeps in a page fault,
// calls the holder back (SignalGuard::Interrupt): the copy ends as if the page were missing, and
// the pager pages it in.
//
// Stuck pages seldom come alone: the holder meets the next one in the same hold or soon after. So
// after a call the holder is checked every kAgain, up to kCallsSoon times per hold, and a hold that
// begins within kRecent is checked after kAgain instead of kPatience.
//
// Leave lets no signal escape to the program: a calling thread increments callers_ before it checks
// that the holder still has the lock, and Leave waits until callers_ is 0.
//
// Thread rule: Enter and Leave by the thread that has the lock; OnTaken by any other.
class LockHolder {
 public:
  // Longer than the longest pass, and shorter than the timeout of any peer.
  static constexpr Duration kPatience = Milliseconds(2);
  // Short, because a copy must be called back up to three times: it continues in smaller steps.
  static constexpr Duration kAgain = Microseconds(30);
  static constexpr Duration kRecent = Milliseconds(100);
  // Enough for a burst of 64 packets with a stuck page each. A holder that needs more calls sleeps
  // in a way that no call ends, for example for a disk.
  static constexpr uint32_t kCallsSoon = 256;

  void Enter() {
    DCHECK(!is_held());
    holds_.store(holds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    thread_.store(Self(), std::memory_order_relaxed);
  }
  void Leave() {
    DCHECK(is_held_by_caller());
    // Sequentially consistent, as the accesses of CallBack are: one of the two sees the other.
    thread_.exchange(0);
    if (callers_.load() > 0) [[unlikely]] {
      WaitForCallers();
    }
  }

  // The caller found the lock taken. True if it should check again within kAgain; otherwise any
  // time will do.
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
  // Counts how often the lock was taken; identifies a hold.
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
  std::atomic<uint32_t> calls_ = 0;  // in the hold seen_hold_
  std::atomic<int64_t> due_ns_ = 0;
  std::atomic<int64_t> recent_until_ns_ = 0;  // kRecent after the last call
};

}  // namespace verbena::adapter
