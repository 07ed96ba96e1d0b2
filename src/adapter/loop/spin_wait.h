#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "adapter/loop/poll_backoff.h"
#include "adapter/loop/preemptions.h"
#include "base/clock.h"
#include "base/time.h"

namespace verbena::adapter {

// Decides how long a thread spins, that is, checks for more work before it sleeps. A wake-up takes
// 3 to 50 us, so a thread whose sleeps are about as short should not sleep. The spin time doubles
// with each short sleep and halves with each long one, as halt_poll_ns of a hypervisor does.
//
// The thread yields between two checks. If another thread runs in such a yield, the core is wanted,
// and the spinning thread sleeps at once the next kSkipsMin times, because the scheduler prefers a
// thread that wakes up. Each time that the other thread uses up its slice there are four times as
// many skips, up to kSkipsMax.
//
// One thread at a time.
class SpinWait {
 public:
  static constexpr Duration kMin = Microseconds(10);
  static constexpr uint32_t kSkipsMin = 4;
  static constexpr uint32_t kSkipsMax = 4'096;

  // Spins for `max` at most.
  explicit SpinWait(Duration max) : max_(max) {}

  // The thread has slept for this long.
  void OnSlept(Duration slept) {
    limit_ = slept > max_ ? limit_ / 2 : std::min(std::max(limit_ * 2, kMin), max_);
  }

  // False: it sleeps at once.
  [[nodiscard]] bool is_on() const { return limit_ > Duration(); }

  // Whether to check again, after checks since `busy_at` that found nothing. If so, the thread
  // yields first, and the result of OnYielded decides.
  [[nodiscard]] bool Wants(Time now, Time busy_at) {
    if (now - busy_at >= limit_) return false;
    if (skips_left_ == 0) return true;
    --skips_left_;
    return false;
  }
  // Whether to go on spinning after a yield. `was_preempted` returns whether another thread ran; it
  // is only called if the yield took long enough for that.
  template <class Fn>
  [[nodiscard]] bool OnYielded(Duration took, Fn was_preempted) {
    if (took < PollBackoff::kTaken || !was_preempted()) return true;
    skips_ = took > PollBackoff::kShared ? std::min(skips_ * 4, kSkipsMax) : kSkipsMin;
    skips_left_ = skips_;
    return false;
  }

  // Wants, a yield and OnYielded in one call.
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
