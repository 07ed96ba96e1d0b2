#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/findings.h"

namespace verbena::sim {

// The oracle of SRQ limit events, for one queue (IBA 10.2.9.3): each time that it was asked for,
// one event comes, by the request that is taken and leaves fewer than the limit; not before, and
// none without asking. It must see the size before and after each time that the program posts, so
// that in between requests were only taken.
class SrqLimitOracle {
 public:
  // The program asks for it, or with 0 no more.
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

  // All events were taken. `limit`: what the queue says that it waits for.
  void Check(size_t size, uint32_t limit, Findings& findings) {
    Observe(size);
    if (std::exchange(due_, 0) > 0) findings.Add("srq", "no event told of the limit");
    if (limit != limit_) findings.Add("srq", "a limit is armed that was not asked for, or is not");
  }

  [[nodiscard]] uint64_t events() const { return events_; }

 private:
  uint32_t limit_ = 0;  // 0: not asked for
  size_t size_ = 0;     // when last seen
  uint32_t due_ = 0;    // events
  uint64_t events_ = 0;
};

}  // namespace verbena::sim
