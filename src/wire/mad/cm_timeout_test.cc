#include "wire/mad/cm_timeout.h"

#include <gtest/gtest.h>

namespace verbena::wire {
namespace {

TEST(CmTimeoutTest, EachCodeDoublesTheTime) {
  EXPECT_EQ(DurationOf(CmTimeout(0)), Nanoseconds(4096));
  EXPECT_EQ(DurationOf(CmTimeout(20)), Nanoseconds(int64_t{4096} << 20));
  for (uint8_t code = 1; code < kCmTimeoutCodes; ++code) {
    EXPECT_EQ(DurationOf(CmTimeout(code)), 2 * DurationOf(CmTimeout(code - 1)));
  }
}

TEST(CmTimeoutTest, ChoosesACodeThatIsNotShorter) {
  EXPECT_EQ(CmTimeoutAtLeast(Nanoseconds(1)), CmTimeout(0));
  EXPECT_EQ(CmTimeoutAtLeast(Nanoseconds(4096)), CmTimeout(0));
  EXPECT_EQ(CmTimeoutAtLeast(Nanoseconds(4097)), CmTimeout(1));
  EXPECT_EQ(CmTimeoutAtLeast(Seconds(4)), CmTimeout(20));
  EXPECT_EQ(CmTimeoutAtLeast(Duration::Max()), CmTimeout(31));
}

TEST(CmTimeoutDeathTest, RefusesACodeOfMoreThanFiveBits) {
  EXPECT_DEATH((void)DurationOf(CmTimeout(32)), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
