#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>

#include "queue/completion.h"
#include "sim/findings.h"
#include "wire/roce/types.h"

namespace verbena::sim {

// The oracle of retries of one requester: counts how often it sends a request without a response.
// Before it gives up, it has sent the request once and retry_count times more; or, to a receiver
// that is not ready, rnr_retry times more. REQUIRES: no response is lost before all are, as on a
// link that is perfect until it is cut, and none waits for pages.
class RetriesOracle {
 public:
  // A request that takes `count` sequence numbers is sent.
  void Sent(Psn psn, uint32_t count) {
    const auto known = std::ranges::find_if(
        tries_, [&](const Try& t) { return (psn - t.first.value()).value() < t.count; });
    if (known != tries_.end()) {
      ++known->since_answer;
      ++known->since_progress;
    } else {
      tries_.push_back({psn, count, 1, 1});
    }
  }
  // The peer has acknowledged everything up to this packet.
  void Acknowledged(Psn last) {
    const bool is_progress = !tries_.empty() && !IsBefore(last, tries_.front().first);
    if (!is_progress) return;
    while (!tries_.empty() && !IsBefore(last, End(tries_.front()) - 1)) tries_.pop_front();
    if (!tries_.empty() && !IsBefore(last, tries_.front().first)) {
      tries_.front().count = (End(tries_.front()) - (last + 1).value()).value();
      tries_.front().first = last + 1;
    }
    for (Try& t : tries_) t.since_answer = t.since_progress = std::min(t.since_answer, 1u);
  }
  // The peer was not ready for this packet, and has dropped the later ones.
  void NotReady(Psn psn) {
    Acknowledged(psn - 1);
    for (Try& t : tries_) {
      t.since_answer = 0;
      if (t.first != psn) t.since_progress = 0;
    }
  }

  void CheckGaveUp(CompletionStatus status, uint32_t retry_count, uint32_t rnr_retry,
                   Findings& findings) const {
    if (tries_.empty()) return;
    const Try& oldest = tries_.front();
    if (status == CompletionStatus::kRetryExceeded) {
      Check(oldest.since_answer, retry_count, "retry_count", findings);
    } else if (status == CompletionStatus::kRnrRetryExceeded) {
      Check(oldest.since_progress, rnr_retry, "rnr_retry", findings);
    }
  }

 private:
  struct Try {
    Psn first;
    uint32_t count;
    uint32_t since_answer;    // transmissions since the last response about it
    uint32_t since_progress;  // and since an acknowledgement of anything before it
  };

  static Psn End(const Try& t) { return t.first + t.count; }
  static void Check(uint32_t sent, uint32_t retries, const char* name, Findings& findings) {
    if (sent == retries + 1) return;
    findings.Add("retries", "gave up after sending " + std::to_string(sent) + " times with " +
                                name + " " + std::to_string(retries));
  }

  std::deque<Try> tries_;  // not acknowledged, in order
};

}  // namespace verbena::sim
