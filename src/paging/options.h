#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace verbena::paging {

// An instruction may need four granules at once: a copy from across one border to across another.
// They come one by one, so that the first must stay until the fourth is there.
inline constexpr uint32_t kMinResidency = 4;
inline constexpr uint32_t kBudgetMin = 16;
static_assert(kBudgetMin >= 4 * kMinResidency);

// The bounds of a ResidentSet, each with a default. A value type.
struct Options {
  uint32_t budget = 1024;        // granules in memory; SetBudget changes it; at least kBudgetMin
  uint32_t tickets_max = 4096;   // wants under way; one more is refused: have room for all
  uint32_t writes_max = 32;      // under way at a time: more would only wait in the store's queue
  uint32_t read_ahead_max = 32;  // granules; 0: none
  uint32_t read_attempts = 3;    // of a granule; then it is broken

  // What a ticket was answered with stays at least this long, so that it can be used.
  Duration min_residency = Milliseconds(1);
  // A store that has failed is tried again after retry_first, then twice that, up to retry_max.
  Duration retry_first = Milliseconds(10);
  Duration retry_max = Seconds(1);
  // For so long may a store be full or failing before requests that wait for it are refused.
  Duration patience = Seconds(5);
};

// What follows from a budget. A value type.
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
  uint32_t part_max;             // of one ticket, at a time: so that several find room
  uint32_t min_residency_floor;  // granules last told, which stay even longer
  uint32_t ahead_max;            // read ahead, and not yet wanted
  uint32_t overrun_max;          // beyond the budget, to be read, while as many cannot be written
  uint32_t reserve_high;
  uint32_t reserve_low;  // fewer free or droppable granules: make it reserve_high
};

}  // namespace verbena::paging
