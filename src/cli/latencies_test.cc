#include "cli/latencies.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace verbena::cli {
namespace {

TEST(LatenciesTest, WithoutSamplesAllFiguresAreZero) {
  const Latencies none;
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(none.MeanUs(), 0);
  EXPECT_EQ(none.WithinUs(0.5), 0);
}

TEST(LatenciesTest, QuantilesDoNotDependOnTheOrderOfSamples) {
  Latencies times;
  for (const int64_t us : {5, 1, 4, 2, 3}) times.Add(us * 1'000);
  EXPECT_EQ(times.WithinUs(0), 1);
  EXPECT_EQ(times.WithinUs(0.5), 3);
  EXPECT_EQ(times.WithinUs(1), 5);
  EXPECT_EQ(times.MeanUs(), 3);
  times.Add(0);
  EXPECT_EQ(times.WithinUs(0), 0);
}

TEST(LatenciesTest, JsonAndTextHaveTheSameFigures) {
  Latencies times;
  for (int64_t us = 1; us <= 1'000; ++us) times.Add(us * 1'000);
  EXPECT_EQ(times.ToJson()["p99"], 990);
  EXPECT_EQ(times.ToJson()["count"], 1'000);
  EXPECT_EQ(times.ToText(),
            "p50 500.00 us, p90 900.00, p99 990.00, p99.9 999.00, min 1.00, max 1000.00");
}

}  // namespace
}  // namespace verbena::cli
