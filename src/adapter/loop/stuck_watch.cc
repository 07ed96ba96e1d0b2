#include "adapter/loop/stuck_watch.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/quiet_thread.h"

namespace verbena::adapter {

StuckWatch::StuckWatch(LockHolder& holder, Alarm alarm)
    : holder_(holder), alarm_(std::move(alarm)) {
  thread_ = StartQuietThread("verbena-stuck", [this] { Work(); });
}

void StuckWatch::Stop() {
  if (!thread_.joinable()) return;
  stops_.store(true);
  // An armed alarm goes off by itself and wakes up the thread.
  if (!is_armed_.load(std::memory_order_acquire)) ArmFor(Duration());
  thread_.join();
}

void StuckWatch::ArmFor(Duration period) {
  alarm_.WakeBy(Now() + period);
  is_armed_.store(true, std::memory_order_release);
}

void StuckWatch::Work() {
  while (!stops_.load()) {
    pollfd file{.fd = alarm_.fd(), .events = POLLIN, .revents = 0};
    if (poll(&file, 1, -1) <= 0) continue;
    // The alarm can go off before the thread that set it has stored is_armed_.
    while (!is_armed_.load(std::memory_order_acquire)) sched_yield();
    alarm_.Reset();
    is_armed_.store(false, std::memory_order_release);
    LookAtHolder();
  }
}

// A holder that waits for a disk cannot be called back; it is checked less and less often.
void StuckWatch::LookAtHolder() {
  constexpr Duration kPauseMax = Milliseconds(10);
  const uint64_t hold = holder_.holds();
  Duration pause = kFirstPause;
  while (holder_.is_held() && holder_.holds() == hold && !stops_.load()) {
    const bool soon = holder_.OnTaken(Now());
    if (soon) pause = LockHolder::kAgain;
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause.nanoseconds()));
    pause = std::min(pause * 2, kPauseMax);
  }
}

}  // namespace verbena::adapter
