#include "wire/roce/timer_codes.h"

#include <gtest/gtest.h>

namespace verbena::wire {
namespace {

TEST(AckTimeoutTest, DoublesFromFourMicroseconds) {
  EXPECT_EQ(DurationOf(AckTimeout(1)), Nanoseconds(8'192));
  EXPECT_EQ(DurationOf(AckTimeout(14)), Nanoseconds(67'108'864));
  EXPECT_EQ(DurationOf(AckTimeout(31)), Nanoseconds(8'796'093'022'208));
}

TEST(AckTimeoutTest, CodeZeroIsInfinite) { EXPECT_EQ(DurationOf(AckTimeout(0)), Duration::Max()); }

TEST(AckTimeoutTest, FindsTheShortestThatIsLongEnough) {
  EXPECT_EQ(AckTimeoutAtLeast(Nanoseconds(0)), AckTimeout(1));
  EXPECT_EQ(AckTimeoutAtLeast(Nanoseconds(8'193)), AckTimeout(2));
  EXPECT_EQ(AckTimeoutAtLeast(Seconds(8'797)), AckTimeout(0));
}

TEST(AckTimeoutTest, EveryCodeIsFoundByItsTime) {
  for (uint8_t code = 0; code < kAckTimeoutCodes; ++code) {
    EXPECT_EQ(AckTimeoutAtLeast(DurationOf(AckTimeout(code))), AckTimeout(code));
  }
}

TEST(AckTimeoutDeathTest, RefusesACodeOfMoreThanFiveBits) {
  EXPECT_DEATH((void)DurationOf(AckTimeout(32)), "CHECK failed");
}

TEST(RnrTimerTest, AgreesWithTheSpecification) {
  EXPECT_EQ(DurationOf(RnrTimer(0)), Microseconds(655'360));
  EXPECT_EQ(DurationOf(RnrTimer(1)), Microseconds(10));
  EXPECT_EQ(DurationOf(RnrTimer(12)), Microseconds(640));
  EXPECT_EQ(DurationOf(RnrTimer(14)), Microseconds(1'280));
  EXPECT_EQ(DurationOf(RnrTimer(27)), Microseconds(122'880));
  EXPECT_EQ(DurationOf(RnrTimer(31)), Microseconds(491'520));
}

// The rule of the table: every second code doubles the time, and those between are halfway.
TEST(RnrTimerTest, GrowsInHalfSteps) {
  for (uint8_t code = 2; code < kRnrTimerCodes; ++code) {
    const int64_t power = int64_t{1} << code / 2;
    const int64_t tens = code % 2 == 0 ? power : power * 3 / 2;
    EXPECT_EQ(DurationOf(RnrTimer(code)), Microseconds(10 * tens)) << int{code};
  }
}

TEST(RnrTimerTest, FindsTheShortestThatIsLongEnough) {
  EXPECT_EQ(RnrTimerAtLeast(Nanoseconds(-1)), RnrTimer(1));
  EXPECT_EQ(RnrTimerAtLeast(Nanoseconds(0)), RnrTimer(1));
  EXPECT_EQ(RnrTimerAtLeast(Microseconds(10)), RnrTimer(1));
  EXPECT_EQ(RnrTimerAtLeast(Nanoseconds(10'001)), RnrTimer(2));
  EXPECT_EQ(RnrTimerAtLeast(Microseconds(491'520)), RnrTimer(31));
  EXPECT_EQ(RnrTimerAtLeast(Microseconds(491'521)), RnrTimer(0));
  EXPECT_EQ(RnrTimerAtLeast(Duration::Max()), RnrTimer(0));
}

TEST(RnrTimerTest, EveryCodeIsFoundByItsTime) {
  for (uint8_t code = 0; code < kRnrTimerCodes; ++code) {
    EXPECT_EQ(RnrTimerAtLeast(DurationOf(RnrTimer(code))), RnrTimer(code));
  }
}

TEST(RnrTimerDeathTest, RefusesACodeOfMoreThanFiveBits) {
  EXPECT_DEATH((void)DurationOf(RnrTimer(32)), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
