#pragma once

#include <cstdint>

#include "adapter/objects/completion_channel.h"
#include "base/time.h"
#include "queue/completion_queue.h"
#include "sim/findings.h"

namespace verbena::sim {

// A completion queue and the knowledge of its program: sometimes the program does not poll it for a
// while. After an overflow there must be one event; earlier completions can be polled, and none
// comes later.
class ProgramCq : public adapter::Cq {
 public:
  using adapter::Cq::Cq;

  // In microseconds: long enough for many messages, and too short for any oracle of time.
  static constexpr int64_t kNeglectMax = 5'000;

  // The program does not poll until then.
  void Neglect(Time until) { neglected_until_ = until; }
  [[nodiscard]] bool is_neglected(Time now) const { return now < neglected_until_; }

  // An event reports an overflow.
  void OnError(Findings& findings) {
    if (!overflowed()) findings.Add("overflow", "an event tells of an overflow that was none");
    if (error_is_known_) findings.Add("overflow", "an overflow was reported twice");
    error_is_known_ = true;
  }
  // All events were taken.
  void CheckReported(Findings& findings) const {
    if (overflowed() && !error_is_known_) {
      findings.Add("overflow", "completions were lost, and no event tells so");
    }
  }
  // The queue is empty, and stays so. REQUIRES: the program has polled everything.
  void CheckEnd(Findings& findings) {
    Completion none;
    const auto polled = Poll({&none, 1});
    const bool fits = overflowed() ? !polled.has_value() : polled.has_value() && *polled == 0;
    if (!fits) findings.Add("overflow", "a completion queue does not end as it should");
  }

 private:
  Time neglected_until_;
  bool error_is_known_ = false;
};

}  // namespace verbena::sim
