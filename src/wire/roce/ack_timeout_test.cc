#include "wire/roce/ack_timeout.h"

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

}  // namespace
}  // namespace verbena::wire
