#include "sim/iwarp/run.h"

#include <gtest/gtest.h>

namespace verbena::sim {
namespace {

// verbena-sim --iwarp runs more, in a release build.
constexpr uint64_t kSeeds = 500;

TEST(IwarpRunTest, SeedsHaveNoFindings) {
  IwarpRun::Result sum;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const IwarpRun::Result result = IwarpRun::Run(IwarpPlan::Draw(seed), {});
    ASSERT_EQ(result.failure, "") << "verbena-sim --iwarp --seed " << seed << " --verbose";
    sum.messages += result.messages;
    sum.sessions += result.sessions;
    sum.early += result.early;
    sum.page_waits += result.page_waits;
    sum.broken += result.broken;
    sum.terminated += result.terminated;
    sum.one_touch += result.one_touch;
  }
  // All that matters is frequent.
  EXPECT_GT(sum.messages, kSeeds);
  EXPECT_GT(sum.sessions, kSeeds / 4);
  EXPECT_GT(sum.early, kSeeds / 4);
  EXPECT_GT(sum.page_waits, kSeeds);
  EXPECT_GT(sum.broken, kSeeds / 4);
  EXPECT_GT(sum.terminated, kSeeds / 8);
  EXPECT_GT(sum.one_touch, kSeeds / 2);
}

TEST(IwarpRunTest, ASeedIsTheSameEveryTime) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto first = IwarpRun::Run(IwarpPlan::Draw(seed), {});
    const auto second = IwarpRun::Run(IwarpPlan::Draw(seed), [](const std::string&) {});
    EXPECT_EQ(first.digest, second.digest) << seed;
    EXPECT_EQ(first.posted, second.posted) << seed;
  }
}

TEST(IwarpRunTest, WithoutFaultsEveryOperationSucceeds) {
  IwarpPlan plan{.seed = 3, .connections = 2, .operations = 100};
  plan.stream.send_markers = plan.stream.receive_markers = true;
  const auto result = IwarpRun::Run(plan, {});
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.broken, 0);
  EXPECT_GT(result.posted, 100);
}

}  // namespace
}  // namespace verbena::sim
