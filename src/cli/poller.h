#pragma once

#include <sched.h>

#include <cstddef>
#include <span>

#include "verbena/completion_queue.h"

namespace verbena::cli {

// Polls a completion queue without pause, but for this: when there was nothing for a while, a
// thread that wants the processor gets it. Where there are fewer processors than pollers that may
// be the other end. One thread.
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
  // Longer than a round trip on loopback takes.
  static constexpr int kPatience = 64;

  int empty_ = 0;
};

}  // namespace verbena::cli
