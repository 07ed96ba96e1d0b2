#include <infiniband/verbs.h>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

TEST(RatesTest, EveryCodeSurvivesARoundTrip) {
  for (int i = IBV_RATE_2_5_GBPS; i <= IBV_RATE_1200_GBPS; ++i) {
    const auto rate = static_cast<ibv_rate>(i);
    EXPECT_GT(ibv_rate_to_mbps(rate), 0);
    EXPECT_EQ(mbps_to_ibv_rate(ibv_rate_to_mbps(rate)), rate) << i;
    EXPECT_EQ(mult_to_ibv_rate(ibv_rate_to_mult(rate)), rate) << i;
  }
}

TEST(RatesTest, RatesMatchTheirNames) {
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_5_GBPS), 2);
  EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_5_GBPS), 5'000);
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_100_GBPS), 40);
  EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103'125);
  EXPECT_EQ(mult_to_ibv_rate(48), IBV_RATE_120_GBPS);
}

TEST(RatesTest, AnUnknownRateIsTheMaximum) {
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_MAX), -1);
  EXPECT_EQ(ibv_rate_to_mbps(static_cast<ibv_rate>(1)), -1);
  EXPECT_EQ(mult_to_ibv_rate(3), IBV_RATE_MAX);
  EXPECT_EQ(mbps_to_ibv_rate(1), IBV_RATE_MAX);
}

}  // namespace
}  // namespace verbena::ibverbs
