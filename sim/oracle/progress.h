#pragma once

#include <algorithm>
#include <string>

#include "base/time.h"
#include "sim/findings.h"

namespace verbena::sim {

// The oracle of isolation: the work of a queue pair that touches no page which is taken away goes
// on at the pace of its link, while others fault without pause. Judges one send queue, by the time
// from when an operation was at its head to when it ended.
class ProgressOracle {
 public:
  // Many round trips, and a fraction of what the pages of the others take.
  static constexpr Duration kServiceMax = Milliseconds(4);

  void Ended(Time posted_at, Time now, Findings& findings) {
    const Duration service = now - std::max(posted_at, last_);
    last_ = now;
    if (service > kServiceMax) {
      findings.Add("progress", "an operation took " + verbena::ToString(service) +
                                   " while others waited for pages");
    }
  }

 private:
  Time last_;
};

}  // namespace verbena::sim
