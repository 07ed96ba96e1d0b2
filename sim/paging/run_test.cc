#include "sim/paging/run.h"

#include <gtest/gtest.h>

namespace verbena::sim {
namespace {

TEST(PagingRunTest, SameSeedSameRun) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const PagingPlan plan = PagingPlan::Draw(seed);
    const PagingRun::Result first = PagingRun::Run(plan, {});
    const PagingRun::Result second = PagingRun::Run(plan, {});
    EXPECT_EQ(first.failure, "") << "seed " << seed;
    EXPECT_EQ(first.digest, second.digest) << "seed " << seed;
    EXPECT_EQ(first.virtual_time, second.virtual_time) << "seed " << seed;
  }
}

TEST(PagingRunTest, ATraceDoesNotChangeTheRun) {
  const PagingPlan plan = PagingPlan::Draw(3);
  uint64_t lines = 0;
  const PagingRun::Result with = PagingRun::Run(plan, [&](const std::string&) { ++lines; });
  EXPECT_EQ(with.digest, PagingRun::Run(plan, {}).digest);
  EXPECT_GT(lines, with.counters.requests);
}

TEST(PagingRunTest, EveryKindOfTroubleIsMet) {
  PagingRun::Result sum;
  for (uint64_t seed = 100; seed < 300; ++seed) {
    const PagingRun::Result result = PagingRun::Run(PagingPlan::Draw(seed), {});
    EXPECT_EQ(result.failure, "") << "seed " << seed;
    sum.goals += result.goals;
    sum.lost += result.lost;
    sum.reports += result.reports;
    sum.counters.rescued += result.counters.rescued;
    sum.counters.waits += result.counters.waits;
    sum.counters.ahead_hits += result.counters.ahead_hits;
    sum.counters.ahead_wastes += result.counters.ahead_wastes;
    sum.counters.refused_broken += result.counters.refused_broken;
    sum.counters.refused_limit += result.counters.refused_limit;
    sum.counters.overrun_peak += result.counters.overrun_peak;
  }
  EXPECT_GT(sum.goals, 10'000U);
  EXPECT_GT(sum.lost, 100U);
  EXPECT_GT(sum.reports, 100U);
  EXPECT_GT(sum.counters.rescued, 1000U);
  EXPECT_GT(sum.counters.waits, 1000U);
  EXPECT_GT(sum.counters.ahead_hits, 100U);
  EXPECT_GT(sum.counters.ahead_wastes, 50U);
  EXPECT_GT(sum.counters.refused_broken, 100U);
  EXPECT_GT(sum.counters.refused_limit, 50U);
  EXPECT_GT(sum.counters.overrun_peak, 20U);
}

TEST(PagingPlanTest, PrintsWhatWasDrawn) {
  const std::string text = PagingPlan::Draw(42).ToString();
  EXPECT_NE(text.find("seed=42\n"), std::string::npos);
  EXPECT_NE(text.find("read_attempts="), std::string::npos);
}

}  // namespace
}  // namespace verbena::sim
