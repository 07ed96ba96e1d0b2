#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace verbena::paging {

// One instruction can need four granules at once: a copy whose source and destination both cross a
// border. The granules are paged in one at a time, so the first must stay until the fourth is
// resident.
inline constexpr uint32_t kMinResidency = 4;
inline constexpr uint32_t kBudgetMin = 16;
static_assert(kBudgetMin >= 4 * kMinResidency);

// The bounds of a ResidentSet, each with a default. A value type.
struct ResidentSetOptions {
  uint32_t budget = 1024;        // granules in memory; SetBudget changes it; at least kBudgetMin
  uint32_t tickets_max = 4096;   // outstanding requests; one more is refused, so have room for all
  uint32_t writes_max = 32;      // in flight at a time: more would only wait in the store's queue
  uint32_t swap_out_max = 256;   // the same for a SwapOut, of which no request waits for a part
  uint32_t read_ahead_max = 32;  // granules; 0: none
  uint32_t read_attempts = 3;    // of a granule; after that it is broken

  // A granule stays in memory at least this long after a ticket was answered with it, so that the
  // requester can use it.
  Duration min_residency = Milliseconds(1);
  // Back-off: a store that has failed is tried again after retry_first, then twice that, up to
  // retry_max.
  Duration retry_first = Milliseconds(10);
  Duration retry_max = Seconds(1);
  // How long a store can be full or failing before requests that wait for it are refused.
  Duration patience = Seconds(5);
};

// Limits that are derived from the budget. A value type.
struct Shares {
  explicit constexpr Shares(uint32_t granules)
      : budget(std::max(granules, kBudgetMin)),
        part_max(std::min(budget / 4, 1024U)),
        min_residency_floor(std::max(kMinResidency, budget / 16)),
        ahead_max(budget / 8),
        overrun_max(std::max(2 * kMinResidency, budget / 8)),
        reserve_high(std::clamp(budget / 16, 1U, 4096U)),
        reserve_low((reserve_high + 1) / 2) {}

  uint32_t budget;
  uint32_t part_max;             // granules of one ticket at a time, so that several find room
  uint32_t min_residency_floor;  // most recently answered granules, which stay even longer
  uint32_t ahead_max;            // read ahead, and not yet requested
  uint32_t overrun_max;          // reads beyond the budget while as many granules are stuck
  uint32_t reserve_high;
  uint32_t reserve_low;  // with fewer free or droppable granules, free up to reserve_high
};

}  // namespace verbena::paging
