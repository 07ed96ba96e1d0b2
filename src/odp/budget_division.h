#pragma once

#include <algorithm>
#include <cstdint>

namespace verbena::odp {

// What an arena can use of a budget, in bytes. A value type.
struct ArenaDemand {
  // An arena needs no more than its size, even if that is below the minimum of a budget.
  constexpr ArenaDemand(uint64_t minimum, uint64_t size)
      : least(std::min(minimum, size)), most(size) {}

  uint64_t least;
  uint64_t most;
};

// Divides a budget among arenas: each gets its least, and of the rest a part in proportion to what
// it can use beyond that. So no arena gets more than it can use while another lacks memory, and
// nothing is paged as long as the budget covers all of them.
class BudgetDivision {
 public:
  explicit constexpr BudgetDivision(uint64_t budget) : budget_(budget) {}

  constexpr void Add(ArenaDemand demand) {
    least_ += demand.least;
    most_ += demand.most;
  }

  // The share of one of the added, in whole units of `granule` bytes. An arena that comes when the
  // budget is used up still gets its least.
  [[nodiscard]] constexpr uint64_t ShareOf(ArenaDemand demand, uint64_t granule) const {
    if (budget_ >= most_) return demand.most;
    if (budget_ <= least_) return demand.least;
    // The product of two sizes may exceed 64 bits.
    const auto part = static_cast<uint64_t>(static_cast<long double>(budget_ - least_) *
                                            static_cast<long double>(demand.most - demand.least) /
                                            static_cast<long double>(most_ - least_));
    return (demand.least + part) / granule * granule;
  }

 private:
  uint64_t budget_;
  uint64_t least_ = 0;
  uint64_t most_ = 0;
};

}  // namespace verbena::odp
