#pragma once

#include <algorithm>

#include "base/time.h"

namespace verbena::adapter {

// How long pages take to come, smoothed: what peers are asked to wait. The last one counts an
// eighth, as in the round-trip estimates of TCP. Bounded, so that one page of a slow disk does not
// make peers wait for long who know no other way to resume than the timer.
//
// A value type.
class ServiceTime {
 public:
  static constexpr Duration kMin = Microseconds(20);
  static constexpr Duration kMax = Milliseconds(100);

  void Add(Duration sample) {
    const Duration bounded = std::clamp(sample, kMin, kMax);
    estimate_ = Nanoseconds((estimate_.nanoseconds() * 7 + bounded.nanoseconds()) / 8);
  }
  [[nodiscard]] Duration estimate() const { return estimate_; }

 private:
  Duration estimate_ = Milliseconds(1);  // before anything is known
};

}  // namespace verbena::adapter
