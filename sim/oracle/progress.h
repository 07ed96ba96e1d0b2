#pragma once

#include <algorithm>
#include <string>

#include "base/time.h"
#include "sim/findings.h"

namespace verbena::sim {

// The oracle of isolation: a queue pair whose pages are never evicted proceeds at the speed of its
// link while others fault continuously. Checks one send queue: the time from when an operation is
// at its head until the operation ends.
class ProgressOracle {
 public:
  // Many round trips, but a fraction of the time that the others wait for pages.
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
