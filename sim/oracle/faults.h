#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "sim/findings.h"
#include "sim/swarm.h"
#include "wire/roce/types.h"

namespace verbena::sim {

// The oracle of page faults and of RNR NAKs, for one queue pair. On a perfect link no timer repairs
// a page fault: no acknowledgement times out, and no request waits for the end of an RNR timer that
// is much longer than the page-in. And the peer gets RNR NAKs exactly as often as rnr_retry allows.
class FaultsOracle {
 public:
  explicit FaultsOracle(const Swarm& swarm) : swarm_(swarm) {}

  // Long enough for the worst storm of faults on one queue, and less than the longest RNR timer.
  static constexpr Duration kLatencyMax = Milliseconds(150);

  // Page-ins are so fast that no timer should expire.
  [[nodiscard]] bool applies() const {
    return swarm_.link_is_perfect() && swarm_.page_in_max * 8 < swarm_.ack_timeout &&
           swarm_.page_in_max < Milliseconds(1);
  }

  void CheckTimeouts(uint64_t timeouts, Findings& findings) const {
    // A read that was answered once, and whose pages are then unavailable, is not answered again
    // (Responder::RefuseReply): if the peer does request it again, a timer expires.
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

  // An RNR NAK for this packet has arrived.
  void NotReady(Psn psn) {
    streak_ = last_ == psn ? streak_ + 1 : 1;
    last_ = psn;
  }
  // The queue pair has failed with RNR retries exceeded, or has not.
  void CheckRetries(bool gave_up, Findings& findings) const {
    if (!swarm_.link_is_perfect() || swarm_.rnr_retry == 7) return;
    // A requester that waits for its own pages drops responses.
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
