#pragma once

#include <algorithm>
#include <cstdint>

namespace verbena::transport {

// How many packets may be under way unacknowledged. Additive increase, multiplicative decrease, as
// TCP Reno: one more per window acknowledged, half after a loss, once per window. Sound on any
// network, and on a loss-free one it soon stands at its maximum.
//
// What is sent to a peer that is not ready for it is sent in vain, a window of it. So after that
// the window opens anew, by a quarter with each window acknowledged, up to where it was: pages come
// about as fast as packets, and the next one that is absent should cost less than the first.
//
// A value type; another policy is another class with these functions.
class CongestionWindow {
 public:
  static constexpr uint32_t kInitial = 64;
  static constexpr uint32_t kMin = 4;
  static constexpr uint32_t kMax = 1024;
  static constexpr uint32_t kReopened = 16;

  uint32_t packets() const { return packets_; }

  void OnAcknowledged(uint32_t packets) {
    credit_ += packets;
    if (credit_ >= packets_) Grow();
  }

  void OnNotReady() {
    packets_ = std::min(packets_, kReopened);
    credit_ = 0;
  }

  void OnLoss() {
    packets_ = target_ = std::max(packets_ / 2, kMin);
    credit_ = 0;
  }

 private:
  void Grow() {
    while (credit_ >= packets_ && packets_ < kMax) {
      credit_ -= packets_;
      packets_ += packets_ < target_ ? std::min(packets_ / 4, target_ - packets_) : 1;
    }
    target_ = std::max(target_, packets_);
    if (packets_ == kMax) credit_ = 0;
  }

  uint32_t packets_ = kInitial;
  uint32_t target_ = kInitial;  // larger while the window opens anew
  uint32_t credit_ = 0;         // acknowledged since the window last grew
};

}  // namespace verbena::transport
