// The memory core against the reference, over random operations; see docs/testing.md.

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "model/run.h"

namespace verbena::memory::model {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || VERBENA_DCHECK
constexpr uint64_t kStepsPerSeed = 15'000;
#else
constexpr uint64_t kStepsPerSeed = 150'000;
#endif

// Each seed is a test of its own, so that seeds can run in parallel.
class ModelSeedTest : public testing::TestWithParam<uint64_t> {};

TEST_P(ModelSeedTest, CoreAndReferenceAgree) {
  const Report report = RunSeed(GetParam(), kStepsPerSeed);
  EXPECT_TRUE(report.agrees) << report.difference;
  EXPECT_EQ(report.steps, kStepsPerSeed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ModelSeedTest, testing::Range<uint64_t>(1, 11));

TEST(ModelCoverageTest, DefaultSeedsReachEveryOutcome) {
  Tally tally;
  for (uint64_t seed = 1; seed <= 10; ++seed) tally.Add(RunSeed(seed, 20'000).tally);

  for (size_t i = 0; i < Tally::kRefusals; ++i) {
    const auto refusal = static_cast<Refusal>(i);
    EXPECT_GT(tally.Of(refusal), 0u) << memory::NameOf(refusal);
  }
  for (size_t i = 0; i < Tally::kErrors; ++i) {
    const auto error = static_cast<MemoryError>(i);
    EXPECT_GT(tally.Of(error), 0u) << memory::NameOf(error);
  }
  for (size_t i = 0; i < Tally::kTouches; ++i) {
    EXPECT_GT(tally.Of(static_cast<TouchAction>(i)), 0u) << NameOf(static_cast<TouchAction>(i));
  }
  EXPECT_GT(tally.Of(Stage::kFirst), 0u);
  EXPECT_GT(tally.Of(Stage::kSecond), 0u);
  EXPECT_GT(tally.ready(), 0u);
  EXPECT_GT(tally.moved(), 1'000'000u);
}

TEST(ModelTest, ASeedAlwaysGivesTheSameRun) {
  EXPECT_EQ(RunSeed(5, 5'000).tally.ToString(), RunSeed(5, 5'000).tally.ToString());
}

// At the end of a fuzzer's input the run ends and its objects are destroyed.
TEST(ModelTest, ARunEndsWithItsInput) {
  std::vector<uint8_t> bytes(3'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i >> 3);
  ByteChoices choices(bytes);
  const Report report = model::Run(choices, UINT64_MAX);
  EXPECT_TRUE(report.agrees) << report.difference;
  EXPECT_GT(report.steps, 100u);
}

}  // namespace
}  // namespace verbena::memory::model
