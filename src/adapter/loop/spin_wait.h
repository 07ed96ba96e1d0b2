#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "adapter/loop/poll_backoff.h"
#include "adapter/loop/preemptions.h"
#include "base/clock.h"
#include "base/time.h"

namespace verbena::adapter {

// How a thread looks for more before it sleeps. A wake-up takes 3 to 50 us, so where sleeps are
// about as short, it is better not to sleep: the time that it spins grows with each short sleep
// and shrinks with each long one, as a hypervisor polls before it halts (halt_poll_ns).
//
// Between two looks it yields. Once another thread has run in such a yield the processor is wanted,
// and the thread sleeps at once the next times, because the scheduler lets a thread that wakes up
// go first: kSkipsMin times, and four times as many each time that the other used up its slice.
//
// One thread at a time.
class SpinWait {
 public:
  static constexpr Duration kMin = Microseconds(10);
  static constexpr uint32_t kSkipsMin = 4;
  static constexpr uint32_t kSkipsMax = 4'096;

  // Never for longer than `max`.
  explicit SpinWait(Duration max) : max_(max) {}

  // How long the thread slept.
  void OnSlept(Duration slept) {
    limit_ = slept > max_ ? limit_ / 2 : std::min(std::max(limit_ * 2, kMin), max_);
  }

  // Whether to look again, after looks since `busy_at` that found nothing. If so the thread yields
  // first, and OnYielded has the last word.
  [[nodiscard]] bool Wants(Time now, Time busy_at) {
    if (now - busy_at >= limit_) return false;
    if (skips_left_ == 0) return true;
    --skips_left_;
    return false;
  }
  // `was_preempted`: whether another thread ran; asked only if it took long enough.
  template <class Fn>
  [[nodiscard]] bool OnYielded(Duration took, Fn was_preempted) {
    if (took < PollBackoff::kTaken || !was_preempted()) return true;
    skips_ = took > PollBackoff::kShared ? std::min(skips_ * 4, kSkipsMax) : kSkipsMin;
    skips_left_ = skips_;
    return false;
  }

  // All of it.
  [[nodiscard]] bool GoesOn(Time busy_at) {
    if (limit_ == Duration()) return false;
    const Time before = Now();
    if (!Wants(before, busy_at)) return false;
    sched_yield();
    return OnYielded(Now() - before, WasPreempted);
  }

 private:
  const Duration max_;
  Duration limit_;
  uint32_t skips_ = kSkipsMin;
  uint32_t skips_left_ = 0;
};

}  // namespace verbena::adapter
