#pragma once

#include <cstdint>
#include <span>

namespace verbena::host {

// What one guest asks of the memory that is to be divided.
struct Claim {
  uint64_t min = 0;     // it gets this in any case
  uint64_t demand = 0;  // and no more than this; at least `min`
  double weight = 1;    // above zero: its part of what is left over
  uint64_t share = 0;   // the result
};

// Divides `budget` by weighted max-min fairness: no claim gets more than it demands, and what one
// leaves goes to the others in proportion to their weights. So a claim that gets less than it
// demands has at least as much per weight, above its minimum, as every other claim has.
//
// REQUIRES: the minimums fit the budget. O(n log n).
void DivideFairly(uint64_t budget, std::span<Claim> claims);

}  // namespace verbena::host
