#pragma once

#include <cstdint>

#include "adapter/objects/completion_channel.h"
#include "base/time.h"
#include "queue/completion_queue.h"
#include "sim/findings.h"

namespace verbena::sim {

// A completion queue, and what its program knows of it: now and then it does not look at it for a
// while. When there was no room for a completion, an event must tell so, once; what was there
// before is to be had, and nothing comes after.
class ProgramCq : public adapter::Cq {
 public:
  using adapter::Cq::Cq;

  // In microseconds: long enough for many messages, and too short for any oracle of time.
  static constexpr int64_t kNeglectMax = 5'000;

  // The program has something else to do until then.
  void Neglect(Time until) { neglected_until_ = until; }
  [[nodiscard]] bool is_neglected(Time now) const { return now < neglected_until_; }

  // An event tells that a completion was lost.
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
  // Nothing is left, and nothing comes any more. REQUIRES: the program has polled all there was.
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
