#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "paging/options.h"

namespace verbena::sim {

// All that a seed decides about a run of the pager before the run starts, as Swarm is for adapters.
// All chances are out of 1000. A value type.
struct PagingPlan {
  [[nodiscard]] static PagingPlan Draw(uint64_t seed);

  uint64_t seed = 0;
  uint32_t granules = 64;
  uint32_t steps = 500;  // with trouble; after them, outstanding requests end
  uint32_t threads = 1;  // of the program
  uint32_t queue_pairs = 1;
  uint32_t run_max = 1;     // granules of a message
  uint32_t writing = 500;   // per goal
  uint32_t sequential = 0;  // per goal, that it starts where the last one ended
  uint32_t hot = 0;         // per goal, that it is among the first sixteenth of the granules
  uint32_t hints = 0;       // per goal reached, that the resident set gets a hint
  uint32_t discards = 0;    // per step
  uint32_t budgets = 0;     // per step, that the budget changes
  uint32_t swap_outs = 0;   // per step, that some granules are to leave
  paging::ResidentSetOptions options;

  Duration latency_max = Microseconds(100);  // of the store
  uint32_t read_failures = 0;                // per read
  uint32_t corruption = 0;                   // per write
  uint32_t write_failures = 0;               // per write
  uint32_t outages = 0;                      // per step, that all writes fail for a while
  uint32_t capacity = UINT32_MAX;            // granules
  bool stays_full = false;                   // also when trouble ends

  // One line per option, name=value.
  [[nodiscard]] std::string ToString() const;
};

}  // namespace verbena::sim
