#include "adapter/loop/spin_wait.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

constexpr Duration kMax = Microseconds(80);
constexpr auto kPreempted = [] { return true; };
constexpr auto kNotPreempted = [] { return false; };

class SpinWaitTest : public testing::Test {
 protected:
  // How long the thread would spin if no other thread wants the core.
  Duration Limit() {
    Duration at;
    while (spin_.Wants(begin_ + at, begin_)) at += Microseconds(1);
    return at;
  }
  void SleepShortly(int times) {
    for (int i = 0; i < times; ++i) spin_.OnSlept(Microseconds(30));
  }

  SpinWait spin_{kMax};
  Time begin_{Seconds(1)};
};

TEST_F(SpinWaitTest, BeginsWithoutSpinningAndGrowsWithShortSleeps) {
  EXPECT_EQ(Limit(), Duration());
  SleepShortly(1);
  EXPECT_EQ(Limit(), SpinWait::kMin);
  EXPECT_TRUE(spin_.is_on());
  SleepShortly(10);
  EXPECT_EQ(Limit(), kMax);
}

TEST_F(SpinWaitTest, ShrinksToZeroWithLongSleeps) {
  SleepShortly(10);
  for (int i = 0; i < 64; ++i) spin_.OnSlept(Milliseconds(1));
  EXPECT_EQ(Limit(), Duration());
}

TEST_F(SpinWaitTest, AMaximumOfZeroNeverSpins) {
  SpinWait never{Duration()};
  for (int i = 0; i < 10; ++i) never.OnSlept(Duration());
  EXPECT_FALSE(never.Wants(begin_, begin_));
  EXPECT_FALSE(never.is_on());
}

TEST_F(SpinWaitTest, SkipsSpinsAfterAnotherThreadRan) {
  SleepShortly(10);
  EXPECT_TRUE(spin_.OnYielded(Nanoseconds(300), kPreempted)) << "too short to be true";
  EXPECT_TRUE(spin_.OnYielded(Microseconds(9), kNotPreempted)) << "an interrupt";
  const auto skips = [&] {
    uint32_t count = 0;
    while (!spin_.Wants(begin_, begin_)) ++count;
    return count;
  };
  EXPECT_EQ(skips(), 0U);
  EXPECT_FALSE(spin_.OnYielded(Microseconds(9), kPreempted));
  EXPECT_EQ(skips(), SpinWait::kSkipsMin);
  EXPECT_FALSE(spin_.OnYielded(Milliseconds(4), kPreempted));
  EXPECT_EQ(skips(), 4 * SpinWait::kSkipsMin);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(spin_.OnYielded(Milliseconds(4), kPreempted));
  EXPECT_EQ(skips(), SpinWait::kSkipsMax);
  EXPECT_FALSE(spin_.OnYielded(Microseconds(9), kPreempted));
  EXPECT_EQ(skips(), SpinWait::kSkipsMin);
}

}  // namespace
}  // namespace verbena::adapter
