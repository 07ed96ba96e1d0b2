#include "odp/budget_division.h"

#include <array>

#include <gtest/gtest.h>

namespace verbena::odp {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLeast = 16 * kPage;
constexpr uint64_t kMiB = uint64_t{1} << 20;

BudgetDivision Divide(uint64_t budget, std::initializer_list<ArenaDemand> demands) {
  BudgetDivision division(budget);
  for (const ArenaDemand demand : demands) division.Add(demand);
  return division;
}

// Sizes of which a product does not fit into 64 bits, and minima that are more than a size.
constexpr std::array<ArenaDemand, 4> kMixed = {
    {{kLeast, uint64_t{1} << 40}, {kLeast, kMiB}, {kLeast, kPage}, {16 * 2 * kMiB, 4 * kMiB}}};

TEST(BudgetDivisionTest, ABudgetForAllGivesEachItsSize) {
  constexpr ArenaDemand kLarge{kLeast, 16 * kMiB}, kSmall{kLeast, kMiB / 2}, kTiny{kLeast, kPage};
  for (const uint64_t above : {uint64_t{0}, kPage, 100 * kMiB}) {
    const BudgetDivision division =
        Divide(16 * kMiB + kMiB / 2 + kPage + above, {kLarge, kSmall, kTiny});
    EXPECT_EQ(division.ShareOf(kLarge, kPage), 16 * kMiB);
    EXPECT_EQ(division.ShareOf(kSmall, kPage), kMiB / 2);
    EXPECT_EQ(division.ShareOf(kTiny, kPage), kPage);
  }
}

TEST(BudgetDivisionTest, TheRestIsDividedInProportionToWhatCanBeUsed) {
  constexpr ArenaDemand kTwice{kLeast, kLeast + 2 * kMiB}, kOnce{kLeast, kLeast + kMiB};
  const BudgetDivision division = Divide(2 * kLeast + 3 * kMiB / 2, {kTwice, kOnce});
  EXPECT_EQ(division.ShareOf(kTwice, kPage), kLeast + kMiB);
  EXPECT_EQ(division.ShareOf(kOnce, kPage), kLeast + kMiB / 2);
}

TEST(BudgetDivisionTest, TheLeastIsGivenAlsoWhenTheBudgetIsUsedUp) {
  for (const uint64_t budget : {uint64_t{0}, kLeast, 2 * kLeast}) {
    const BudgetDivision division = Divide(budget, {{kLeast, kMiB}, {kLeast, kMiB}});
    EXPECT_EQ(division.ShareOf({kLeast, kMiB}, kPage), kLeast) << budget;
  }
}

TEST(BudgetDivisionTest, AnArenaBelowItsMinimumLeavesTheRestToTheOthers) {
  constexpr ArenaDemand kTiny{kLeast, kPage}, kLarge{kLeast, kMiB};
  const BudgetDivision division = Divide(kMiB, {kTiny, kLarge});
  EXPECT_EQ(division.ShareOf(kTiny, kPage), kPage);
  EXPECT_EQ(division.ShareOf(kLarge, kPage), kMiB - kPage);
}

TEST(BudgetDivisionTest, TheSumStaysWithinTheBudget) {
  uint64_t least = 0;
  for (const ArenaDemand demand : kMixed) least += demand.least;
  for (uint64_t budget = least; budget < uint64_t{1} << 41; budget = budget * 3 / 2 + 1) {
    BudgetDivision division(budget);
    for (const ArenaDemand demand : kMixed) division.Add(demand);
    uint64_t sum = 0;
    for (const ArenaDemand demand : kMixed) {
      const uint64_t share = division.ShareOf(demand, kPage);
      EXPECT_GE(share, demand.least) << budget;
      EXPECT_LE(share, demand.most) << budget;
      sum += share;
    }
    EXPECT_LE(sum, budget);
  }
}

TEST(BudgetDivisionTest, SharesAreWholeGranules) {
  constexpr uint64_t kGranule = 64 * 1024;
  constexpr ArenaDemand kDemand{kGranule, 10 * kGranule};
  const BudgetDivision division = Divide(kGranule * 5 + 1, {kDemand});
  EXPECT_EQ(division.ShareOf(kDemand, kGranule), 5 * kGranule);
}

}  // namespace
}  // namespace verbena::odp
