#include "adapter/linger.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

constexpr Duration kMax = Microseconds(80);
constexpr auto kPreempted = [] { return true; };
constexpr auto kNotPreempted = [] { return false; };

class LingerTest : public testing::Test {
 protected:
  // How long it would go on, if no other thread wants the core.
  Duration Limit() {
    Duration at;
    while (linger_.Wants(begin_ + at, begin_)) at += Microseconds(1);
    return at;
  }
  void SleepShortly(int times) {
    for (int i = 0; i < times; ++i) linger_.OnSlept(Microseconds(30));
  }

  Linger linger_{kMax};
  Time begin_{Seconds(1)};
};

TEST_F(LingerTest, BeginsWithNothingAndGrowsWithShortSleeps) {
  EXPECT_EQ(Limit(), Duration());
  SleepShortly(1);
  EXPECT_EQ(Limit(), Linger::kMin);
  SleepShortly(10);
  EXPECT_EQ(Limit(), kMax);
}

TEST_F(LingerTest, ShrinksToNothingWithLongSleeps) {
  SleepShortly(10);
  for (int i = 0; i < 64; ++i) linger_.OnSlept(Milliseconds(1));
  EXPECT_EQ(Limit(), Duration());
}

TEST_F(LingerTest, NeverWhereTheProgramSaysSo) {
  Linger never{Duration()};
  for (int i = 0; i < 10; ++i) never.OnSlept(Duration());
  EXPECT_FALSE(never.Wants(begin_, begin_));
}

TEST_F(LingerTest, LeavesTheCoreToOthersForSomeTimes) {
  SleepShortly(10);
  EXPECT_TRUE(linger_.OnYielded(Nanoseconds(300), kPreempted)) << "too short to be true";
  EXPECT_TRUE(linger_.OnYielded(Microseconds(9), kNotPreempted)) << "an interrupt";
  const auto skips = [&] {
    uint32_t count = 0;
    while (!linger_.Wants(begin_, begin_)) ++count;
    return count;
  };
  EXPECT_EQ(skips(), 0U);
  EXPECT_FALSE(linger_.OnYielded(Microseconds(9), kPreempted));
  EXPECT_EQ(skips(), Linger::kSkipsMin);
  EXPECT_FALSE(linger_.OnYielded(Milliseconds(4), kPreempted));
  EXPECT_EQ(skips(), 4 * Linger::kSkipsMin);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(linger_.OnYielded(Milliseconds(4), kPreempted));
  EXPECT_EQ(skips(), Linger::kSkipsMax);
  EXPECT_FALSE(linger_.OnYielded(Microseconds(9), kPreempted));
  EXPECT_EQ(skips(), Linger::kSkipsMin);
}

}  // namespace
}  // namespace verbena::adapter
