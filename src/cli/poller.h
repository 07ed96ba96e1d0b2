#pragma once

#include <sched.h>

#include <cstddef>
#include <span>

#include "verbena/completion_queue.h"

namespace verbena::cli {

// Polls a completion queue in a busy loop, and yields the processor after a number of empty polls:
// with fewer processors than pollers, the thread that needs it can be the other end. One thread.
class Poller {
 public:
  [[nodiscard]] CodeOr<size_t> Poll(const CompletionQueue& cq, std::span<Completion> out) {
    const auto count = cq.Poll(out);
    empty_ = count == 0 ? empty_ + 1 : 0;
    if (empty_ >= kPatience) {
      sched_yield();
      empty_ = 0;
    }
    return count;
  }

 private:
  // Empty polls before a yield: longer than a round trip on loopback.
  static constexpr int kPatience = 64;

  int empty_ = 0;
};

}  // namespace verbena::cli
