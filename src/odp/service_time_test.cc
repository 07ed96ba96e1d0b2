#include "odp/service_time.h"

#include <gtest/gtest.h>

namespace verbena::odp {
namespace {

TEST(ServiceTimeTest, FollowsTheMeasurements) {
  ServiceTime time;
  EXPECT_EQ(time.average(), Milliseconds(1));
  for (int i = 0; i < 100; ++i) time.Add(Microseconds(60));
  EXPECT_NEAR(static_cast<double>(time.average().nanoseconds()), 60'000, 100);
  time.Add(Microseconds(860));
  EXPECT_NEAR(static_cast<double>(time.average().nanoseconds()), 160'000, 200);
}

TEST(ServiceTimeTest, PeersWaitTwiceAsLong) {
  ServiceTime time;
  EXPECT_EQ(time.wait(), Milliseconds(2));
  for (int i = 0; i < 200; ++i) time.Add(Seconds(100));
  EXPECT_EQ(time.wait(), ServiceTime::kMax);
}

TEST(ServiceTimeTest, IsBounded) {
  ServiceTime time;
  for (int i = 0; i < 200; ++i) time.Add(Seconds(100));
  EXPECT_LE(time.average(), ServiceTime::kMax);
  for (int i = 0; i < 200; ++i) time.Add(Nanoseconds(1));
  EXPECT_GE(time.average(), ServiceTime::kMin);
}

}  // namespace
}  // namespace verbena::odp
