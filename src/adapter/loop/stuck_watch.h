#pragma once

#include <atomic>
#include <thread>
#include <utility>

#include "adapter/loop/alarm.h"
#include "adapter/loop/lock_holder.h"
#include "base/time.h"

namespace verbena::adapter {

// A thread that watches the holder of the engine's lock when no other thread wants the lock. If the
// progress thread of a process that only serves its peers, or a waiter, is stuck in a page fault,
// no other thread finds the lock taken and calls it back (see LockHolder).
//
// A pass or a post arms the watch, unless it is armed. kPeriod later the thread checks once: if the
// lock is held, it watches the holder until that hold ends. So the watch costs one comparison per
// pass, a system call and a wake-up each kPeriod while there are passes, and nothing otherwise.
//
// The holder of the lock owns the alarm while is_armed_ is false, the thread while it is true.
// Owned by the adapter. Thread rule: Arm under the engine's lock.
class StuckWatch {
 public:
  static constexpr Duration kPeriod = Milliseconds(4);
  // Before then the holder would not be called back. On one processor the holder is often a thread
  // that this one has just preempted, and that each look would preempt again.
  static constexpr Duration kFirstPause = LockHolder::kPatience;

  StuckWatch(LockHolder& holder, Alarm alarm);
  StuckWatch(const StuckWatch&) = delete;
  StuckWatch& operator=(const StuckWatch&) = delete;
  ~StuckWatch() { Stop(); }
  // REQUIRES: no thread calls Arm any more.
  void Stop();

  void Arm() {
    if (!is_armed_.load(std::memory_order_acquire)) [[unlikely]] {
      ArmFor(kPeriod);
    }
  }

 private:
  void ArmFor(Duration period);
  void Work();
  void LookAtHolder();

  LockHolder& holder_;
  Alarm alarm_;
  std::atomic<bool> is_armed_ = false;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

}  // namespace verbena::adapter
