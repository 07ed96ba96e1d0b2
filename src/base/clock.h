#pragma once

#include <time.h>

#include "base/time.h"

namespace verbena {

// The time of this machine, which all that the adapter does is measured by. It takes no system
// call on machines whose clock the kernel shares.
[[nodiscard]] inline Time Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Time(Seconds(now.tv_sec) + Nanoseconds(now.tv_nsec));
}

// What an engine takes the time from, once a pass. Any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time Now() const = 0;
};

// The time of this machine.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Time Now() const override { return verbena::Now(); }
};

}  // namespace verbena
