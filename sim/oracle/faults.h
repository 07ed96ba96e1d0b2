#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "sim/findings.h"
#include "sim/swarm.h"
#include "wire/roce/types.h"

namespace verbena::sim {

// The oracle of page faults and of receivers that are not ready, for one queue pair. On a perfect
// link a fault is never repaired by a timer: no acknowledgement times out, and no request waits for
// the end of an RNR timer that is much longer than its pages take. And the peer gets "not ready"
// as often as rnr_retry allows, and not once more or less.
class FaultsOracle {
 public:
  explicit FaultsOracle(const Swarm& swarm) : swarm_(swarm) {}

  // Long enough for the worst storm of faults on one queue, and less than the longest RNR timer.
  static constexpr Duration kLatencyMax = Milliseconds(150);

  // A page-in is so quick that no timer should notice it.
  [[nodiscard]] bool applies() const {
    return swarm_.link_is_perfect() && swarm_.page_in_max * 8 < swarm_.ack_timeout &&
           swarm_.page_in_max < Milliseconds(1);
  }

  void CheckTimeouts(uint64_t timeouts, Findings& findings) const {
    // A read that was answered once, whose pages then cannot be had, is not answered again
    // (Responder::RefuseReply): if the peer does want it again, a timer ends.
    const bool may_be_silent = swarm_.eviction > 0 && swarm_.page_in_failure > 0;
    if (applies() && !may_be_silent && timeouts > 0) {
      findings.Add("faults", "a timeout on a link that loses nothing");
    }
  }
  void CheckLatency(Duration latency, Findings& findings) const {
    if (applies() && swarm_.dry == 0 && latency > kLatencyMax) {
      findings.Add("faults", "an operation took " + verbena::ToString(latency) +
                                 " on a link that loses nothing");
    }
  }

  // An RNR NAK has arrived, about this packet.
  void NotReady(Psn psn) {
    streak_ = last_ == psn ? streak_ + 1 : 1;
    last_ = psn;
  }
  // The queue pair has given up for that reason, or has not.
  void CheckRetries(bool gave_up, Findings& findings) const {
    if (!swarm_.link_is_perfect() || swarm_.rnr_retry == 7) return;
    // A requester that waits for pages of its own overhears answers.
    const bool may_overhear = swarm_.eviction > 0;
    const uint32_t allowed = swarm_.rnr_retry + 1;
    const bool too_few = gave_up && streak_ < allowed;
    const bool too_many = streak_ > allowed && !may_overhear;
    if (too_few || too_many) {
      findings.Add("faults", "not ready " + std::to_string(streak_) + " times with rnr_retry " +
                                 std::to_string(swarm_.rnr_retry));
    }
  }

 private:
  Swarm swarm_;
  std::optional<Psn> last_;
  uint32_t streak_ = 0;
};

}  // namespace verbena::sim
