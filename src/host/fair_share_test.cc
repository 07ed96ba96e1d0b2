#include "host/fair_share.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::host {
namespace {

std::vector<uint64_t> Shares(uint64_t budget, std::vector<Claim> claims) {
  DivideFairly(budget, claims);
  std::vector<uint64_t> shares;
  for (const Claim& claim : claims) shares.push_back(claim.share);
  return shares;
}

TEST(FairShare, EqualClaimsGetEqualShares) {
  EXPECT_EQ(Shares(300, {{0, 1000, 1}, {0, 1000, 1}, {0, 1000, 1}}),
            (std::vector<uint64_t>{100, 100, 100}));
}

TEST(FairShare, WeightsDivideWhatIsScarce) {
  EXPECT_EQ(Shares(600, {{0, 1000, 1}, {0, 1000, 2}, {0, 1000, 3}}),
            (std::vector<uint64_t>{100, 200, 300}));
}

TEST(FairShare, WhatASmallDemandLeavesGoesToTheOthers) {
  EXPECT_EQ(Shares(300, {{0, 1000, 1}, {0, 20, 1}, {0, 1000, 1}}),
            (std::vector<uint64_t>{140, 20, 140}));
}

TEST(FairShare, TheMinimumComesBeforeTheWeight) {
  EXPECT_EQ(Shares(300, {{200, 1000, 1}, {0, 1000, 3}}), (std::vector<uint64_t>{225, 75}));
}

TEST(FairShare, WhatNoClaimDemandsIsLeft) {
  EXPECT_EQ(Shares(300, {{0, 10, 1}, {5, 20, 1}}), (std::vector<uint64_t>{10, 20}));
}

TEST(FairShare, NoClaimsNoShares) { EXPECT_TRUE(Shares(300, {}).empty()); }

TEST(FairShare, RandomClaimsAreFair) {
  Random random(1);
  for (int round = 0; round < 2'000; ++round) {
    const uint64_t budget = random.Between(1, 1 << 20);
    uint64_t reserved = 0;
    std::vector<Claim> claims(random.Between(1, 12));
    for (Claim& claim : claims) {
      claim.min = random.Below((budget - reserved) / claims.size() + 1);
      reserved += claim.min;
      claim.demand = claim.min + random.Below(budget);
      claim.weight = static_cast<double>(random.Between(1, 1000));
    }
    DivideFairly(budget, claims);
    uint64_t sum = 0;
    double lowest_unmet = 1e18, highest = 0;
    bool all_met = true;
    for (const Claim& claim : claims) {
      ASSERT_GE(claim.share, claim.min);
      ASSERT_LE(claim.share, claim.demand);
      sum += claim.share;
      const double above = static_cast<double>(claim.share - claim.min) / claim.weight;
      // Rounding to bytes takes less than a byte from each.
      highest = std::max(highest, above - 13 / claim.weight);
      if (claim.share == claim.demand) continue;
      all_met = false;
      lowest_unmet = std::min(lowest_unmet, above + 13 / claim.weight);
    }
    ASSERT_LE(sum, budget);
    if (all_met) continue;
    ASSERT_GE(sum + claims.size(), budget) << "memory is left while a claim is unmet";
    ASSERT_GE(lowest_unmet, highest) << "an unmet claim has less per weight than another";
  }
}

}  // namespace
}  // namespace verbena::host
