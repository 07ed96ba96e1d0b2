#include "cli/bench.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace verbena::cli {
namespace {

BenchResult Measure(const BenchSpec& spec) {
  auto client = Client::Join({}, RequestFor(spec), spec.depth);
  EXPECT_TRUE(client) << client.error().text;
  auto result = Bench((*client)->endpoint(), spec);
  EXPECT_TRUE(result) << result.error().text;
  return std::move(*result);
}

class BenchOperationTest : public testing::TestWithParam<BenchOperation> {};

TEST_P(BenchOperationTest, CountsCompletedRequests) {
  const BenchResult result = Measure(
      {.operation = GetParam(), .size = 1'000, .qps = 2, .depth = 8, .batch = 4, .count = 400});
  EXPECT_EQ(result.requests, 400);
  EXPECT_EQ(result.latencies.count(), 100);
  EXPECT_GT(result.PerSecond(), 0);
  EXPECT_EQ(result.spec.size, GetParam() == BenchOperation::kAtomic ? 8 : 1'000);
  EXPECT_GT(result.sockets.datagrams_sent, 0);
}

INSTANTIATE_TEST_SUITE_P(All, BenchOperationTest,
                         testing::Values(BenchOperation::kWrite, BenchOperation::kRead,
                                         BenchOperation::kSend, BenchOperation::kAtomic),
                         [](const auto& one) { return NameOf(one.param); });

TEST(BenchTest, RunsForTheGivenTime) {
  const BenchResult result =
      Measure({.depth = 16, .batch = 4, .time = std::chrono::milliseconds(100)});
  EXPECT_GE(result.seconds, 0.1);
  EXPECT_GT(result.requests, 16);
}

TEST(BenchTest, ABatchIsNotLargerThanTheDepth) {
  EXPECT_EQ(Measure({.depth = 2, .batch = 64, .count = 10}).spec.batch, 2);
}

TEST(BenchTest, JsonHasTheFigures) {
  const nlohmann::json json = Measure({.size = 1 << 20, .count = 4}).ToJson();
  EXPECT_EQ(json["operation"], "write");
  EXPECT_EQ(json["requests"], 4);
  EXPECT_GT(json["mib_per_second"], 0);
  EXPECT_EQ(json["latency_us"]["count"], 4);
}

}  // namespace
}  // namespace verbena::cli
