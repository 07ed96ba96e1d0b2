#pragma once

#include <algorithm>
#include <cstdint>

namespace verbena::transport {

// How many packets may be outstanding. Additive increase, multiplicative decrease, as in TCP Reno:
// one packet more per acknowledged window, half after a loss, once per window. Stable on any
// network; on a network without loss the window soon reaches its maximum.
//
// A peer that is not ready (RNR NAK) drops a whole window. After that the window starts small and
// grows by a quarter with each acknowledged window, up to its former size: pages are paged in about
// as fast as packets arrive, and the next absent page should cost less than the first.
//
// A value type; another policy would be another class with these functions.
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
  uint32_t target_ = kInitial;  // exceeds packets_ while the window grows back
  uint32_t credit_ = 0;         // packets acknowledged since the window last grew
};

}  // namespace verbena::transport
