#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace verbena {

// Monotonic time as the system tells it.
[[nodiscard]] inline Time SystemNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Time(Seconds(now.tv_sec) + Nanoseconds(now.tv_nsec));
}

// The same time where the kernel does not share its clock with programs, so that each reading takes
// a system call. A thread that has read the system's clock adds the processor's counter to that for
// kAge, and then reads the clock again.
//
// The kernel of such a machine may distrust the counter, for example because those of two
// processors differ. So a reading serves its own thread alone, and no error lasts longer than kAge.
// Times of two threads may differ by as much as the rate is inexact: a few microseconds.
//
// Global, because all code reads one clock. Any thread.
class CounterClock {
 public:
  // Many round trips of a small message, and shorter than any timeout.
  static constexpr Duration kAge = Milliseconds(1);
  // A system's clock that takes longer to read takes a system call.
  static constexpr Duration kCallMax = Nanoseconds(500);
  // false: the system's clock is read each time, for comparison.
  static constexpr bool kIsOn = true;

  // Uses the counter from now on, if the system's clock is dear and the processor has a counter
  // whose rate is constant. Takes two milliseconds then.
  static void UseIfClockIsDear();
  [[nodiscard]] static bool IsClockDear();

  // False if there is no such counter.
  static bool Use();
  static void StopUse() { ticks_of_age_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] static bool is_used() { return ticks_of_age_.load(std::memory_order_relaxed) != 0; }
  // REQUIRES: is_used().
  [[nodiscard]] static Time Now();

 private:
  // 0: not in use.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): all code reads one clock
  inline static constinit std::atomic<uint64_t> ticks_of_age_ = 0;
};

}  // namespace verbena
