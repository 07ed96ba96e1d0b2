#include "sim/cm/run.h"

#include <gtest/gtest.h>

namespace verbena::sim {
namespace {

// verbena-sim --cm runs more, in a release build.
constexpr uint64_t kSeeds = 1000;

TEST(CmRunTest, SeedsHaveNoFindings) {
  CmRun::Result sum;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const CmRun::Result result = CmRun::Run(CmPlan::Draw(seed), {});
    ASSERT_EQ(result.failure, "") << "verbena-sim --cm --seed " << seed << " --verbose";
    sum.established += result.established;
    sum.rejected += result.rejected;
    sum.unreachable += result.unreachable;
    sum.disconnected += result.disconnected;
    sum.refused += result.refused;
  }
  // Every outcome is frequent.
  EXPECT_GT(sum.established, kSeeds);
  EXPECT_GT(sum.rejected, kSeeds);
  EXPECT_GT(sum.unreachable, kSeeds);
  EXPECT_GT(sum.disconnected, kSeeds);
  EXPECT_GT(sum.refused, kSeeds / 4);
}

TEST(CmRunTest, ASeedIsTheSameEveryTime) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto first = CmRun::Run(CmPlan::Draw(seed), {});
    const auto second = CmRun::Run(CmPlan::Draw(seed), [](const std::string&) {});
    EXPECT_EQ(first.digest, second.digest) << seed;
    EXPECT_EQ(first.events, second.events) << seed;
  }
}

// Consumers without special behavior on a network without faults and delays: a DREQ does not
// overtake an RTU.
TEST(CmRunTest, WithoutFaultsAllConnectionsAreMadeAndEnded) {
  CmPlan plan{.seed = 5, .conversations = 50};
  plan.delay_max = Duration();
  plan.options.packet_life = Duration();
  plan.backlog = 1000;
  const auto result = CmRun::Run(plan, {});
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.established, 50u);
  EXPECT_EQ(result.disconnected, 100u);
  EXPECT_EQ(result.rejected + result.unreachable + result.refused, 0u);
}

}  // namespace
}  // namespace verbena::sim
