#pragma once

#include <atomic>
#include <thread>
#include <utility>

#include "adapter/loop/alarm.h"
#include "adapter/loop/lock_holder.h"
#include "base/time.h"

namespace verbena::adapter {

// Looks after a thread that has the engine's lock while no other wants it: the progress thread of a
// process that only serves its peers, or a thread that waits for an event. If that one is stuck in
// a page fault, there is no thread to find the lock taken.
//
// A pass arms it, unless it is armed. kPeriod later it looks once: at a thread that has the lock,
// for as long as that is one and the same hold. So it costs a comparison a pass, a system call and
// a wake-up each kPeriod while there are passes, and nothing when there are none.
//
// The alarm belongs to the pass while is_armed_ is false, and to the thread while it is true.
// Owned by the adapter. Thread rule: Arm under the engine's lock.
class StuckWatch {
 public:
  static constexpr Duration kPeriod = Milliseconds(4);

  StuckWatch(LockHolder& holder, Alarm alarm);
  StuckWatch(const StuckWatch&) = delete;
  StuckWatch& operator=(const StuckWatch&) = delete;
  ~StuckWatch() { Stop(); }
  // REQUIRES: nothing arms it any more.
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
