#pragma once

#include <algorithm>

#include "base/time.h"

namespace verbena::odp {

// The smoothed time that paging in takes, which sets how long peers are asked to wait. The last
// sample counts an eighth, as in TCP's round-trip estimate. Bounded, so that one page of a slow
// disk does not cause a long wait at peers that resume only by the timer.
//
// Peers wait twice the average. Of peers that waited only for the average, half would retransmit a
// window full of packets too soon, and get another RNR NAK. Peers that run Verbena resume when the
// pages are present, before the timer expires.
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
  // How long to ask peers to wait.
  [[nodiscard]] Duration wait() const { return std::min(average_ * 2, kMax); }

 private:
  Duration average_ = Milliseconds(1);  // before the first sample
};

}  // namespace verbena::odp
