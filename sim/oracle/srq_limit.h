#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/findings.h"

namespace verbena::sim {

// The oracle of SRQ limit events, for one queue (IBA 10.2.9.3): each time the limit is armed, one
// event comes, when a request is taken and fewer than the limit are left; not earlier, and none
// while the limit is not armed. The oracle must see the size before and after each post, so that in
// between requests are only taken.
class SrqLimitOracle {
 public:
  // The program arms the limit, or disarms it with 0.
  void Armed(uint32_t limit) { limit_ = limit; }
  [[nodiscard]] bool is_armed() const { return limit_ != 0; }

  void Posted(size_t size) { size_ = size; }

  void Observe(size_t size) {
    const bool has_taken = size < size_;
    size_ = size;
    if (!has_taken || size >= limit_) return;
    limit_ = 0;
    ++due_;
  }

  void OnEvent(size_t size, Findings& findings) {
    Observe(size);
    ++events_;
    if (due_ == 0) return findings.Add("srq", "a limit event that was not asked for, or too early");
    --due_;
  }

  // REQUIRES: all events were taken. `limit`: the limit that the queue reports as armed.
  void Check(size_t size, uint32_t limit, Findings& findings) {
    Observe(size);
    if (std::exchange(due_, 0) > 0) findings.Add("srq", "the limit raised no event");
    if (limit != limit_) findings.Add("srq", "a limit is armed that was not asked for, or is not");
  }

  [[nodiscard]] uint64_t events() const { return events_; }

 private:
  uint32_t limit_ = 0;  // 0: not armed
  size_t size_ = 0;     // when last seen
  uint32_t due_ = 0;    // events that must come
  uint64_t events_ = 0;
};

}  // namespace verbena::sim
