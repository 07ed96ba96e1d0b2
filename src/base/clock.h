#pragma once

#include <time.h>

#include "base/counter_clock.h"
#include "base/time.h"

namespace verbena {

// Monotonic time, the time base of the whole adapter. Takes no system call where the vDSO serves
// the clock, and few elsewhere once CounterClock is in use.
[[nodiscard]] inline Time Now() {
  return CounterClock::is_used() ? CounterClock::Now() : SystemNow();
}

// The engine's source of time, which it reads once a pass. Any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time Now() const = 0;
};

// Monotonic time of this machine.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Time Now() const override { return verbena::Now(); }
};

}  // namespace verbena
