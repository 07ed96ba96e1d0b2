#pragma once

#include <algorithm>

#include "base/time.h"

namespace verbena::odp {

// How long pages take to come, smoothed: what peers are asked to wait. The last one counts an
// eighth, as in the round-trip estimates of TCP. Bounded, so that one page of a slow disk does not
// make peers wait for long who know no other way to resume than the timer.
//
// Peers wait twice as long as it takes on average. Of peers that waited for the average only, half
// would send too soon, a window full of packets, to be told to wait again; and peers of ours go on
// when the pages are there, whatever the timer says.
//
// A value type.
class ServiceTime {
 public:
  static constexpr Duration kMin = Microseconds(20);
  static constexpr Duration kMax = Milliseconds(100);

  void Add(Duration sample) {
    const Duration bounded = std::clamp(sample, kMin, kMax);
    average_ = Nanoseconds((average_.nanoseconds() * 7 + bounded.nanoseconds()) / 8);
  }
  [[nodiscard]] Duration average() const { return average_; }
  // What to ask peers for.
  [[nodiscard]] Duration wait() const { return std::min(average_ * 2, kMax); }

 private:
  Duration average_ = Milliseconds(1);  // before anything is known
};

}  // namespace verbena::odp
