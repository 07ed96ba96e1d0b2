#include "base/counter_clock.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace verbena {
namespace {

// Leaves the clock of the process as it was.
class CounterClockTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CounterClock::Use()) GTEST_SKIP() << "the processor has no counter of a constant rate";
  }
  void TearDown() override { CounterClock::StopUse(); }
};

TEST_F(CounterClockTest, NowIsThatOfTheCounterWhileItIsUsed) {
  EXPECT_TRUE(CounterClock::is_used());
  CounterClock::StopUse();
  EXPECT_FALSE(CounterClock::is_used());
  const Time before = SystemNow();
  const Time now = Now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, SystemNow());
}

// Of many readings the closest counts: other work delays the rest.
TEST_F(CounterClockTest, FollowsTheSystemsClock) {
  for (const Time end = SystemNow() + Milliseconds(50); SystemNow() < end;) {
    Duration behind = Duration::Max();
    Duration ahead;
    for (int i = 0; i < 200; ++i) {
      const Time before = SystemNow();
      const Time now = Now();
      ahead = std::max(ahead, now - SystemNow());
      behind = std::min(behind, before - now);
    }
    EXPECT_LT(ahead, Microseconds(100));
    EXPECT_LT(behind, Microseconds(100));
  }
}

TEST_F(CounterClockTest, AdvancesBetweenReadingsOfTheSystemsClock) {
  int changes = 0;
  Time last = Now();
  const Time begin = last;
  for (const Time end = SystemNow() + Seconds(10); changes < 1'000 && SystemNow() < end;) {
    const Time now = Now();
    EXPECT_GT(now, last - Microseconds(100));
    changes += now > last ? 1 : 0;
    last = now;
  }
  EXPECT_EQ(changes, 1'000);
  EXPECT_GT(last, begin);
}

TEST(CounterClockUseTest, IsNotUsedWhereTheClockIsCheap) {
  ASSERT_FALSE(CounterClock::is_used());
  // Other work can delay all readings of one look, and not those of most looks.
  int dear = 0;
  constexpr int kLooks = 11;
  for (int i = 0; i < kLooks; ++i) dear += CounterClock::IsClockDear() ? 1 : 0;
  if (dear > kLooks / 2) GTEST_SKIP() << "reading the clock takes a system call";
  int uses = 0;
  for (int i = 0; i < kLooks; ++i) {
    CounterClock::UseIfClockIsDear();
    uses += CounterClock::is_used() ? 1 : 0;
    CounterClock::StopUse();
  }
  EXPECT_LE(uses, kLooks / 2);
}

}  // namespace
}  // namespace verbena
