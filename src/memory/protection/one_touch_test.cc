#include "memory/protection/one_touch.h"

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

constexpr uint32_t kWindow = 100;

constexpr StreamPosition At(uint32_t next_expected) {
  return {StreamNumber(next_expected), kWindow};
}
constexpr StreamSegment End(uint32_t last_byte) { return {true, StreamNumber(last_byte)}; }

// Row B9, line by line, with the stream at `next`.
void ExpectDecisionTable(uint32_t next) {
  const StreamPosition stream = At(next);
  const auto decide = [&](uint32_t last_byte) {
    return DecideTouch(End(last_byte), true, false, stream);
  };
  EXPECT_EQ(decide(next - 1), TouchAction::kPlaceAndInvalidate);
  EXPECT_EQ(decide(next), TouchAction::kPlaceAndRemember);
  EXPECT_EQ(decide(next + kWindow - 1), TouchAction::kPlaceAndRemember);
  EXPECT_EQ(decide(next + kWindow), TouchAction::kDrop);
  EXPECT_EQ(decide(next + (1u << 31)), TouchAction::kDrop);
  EXPECT_EQ(decide(next - 2), TouchAction::kDrop);  // the sender retransmits
}

TEST(OneTouchTest, TheLastByteDecidesAnUntouchedKey) { ExpectDecisionTable(5000); }

TEST(OneTouchTest, TheSequenceMayWrap) {
  for (const uint32_t next : {0u, 1u, 2u, kWindow - 1, UINT32_MAX, UINT32_MAX - kWindow,
                              UINT32_MAX - kWindow + 1, 1u << 31}) {
    SCOPED_TRACE(next);
    ExpectDecisionTable(next);
  }
}

TEST(OneTouchTest, ASegmentWithinAMessageIsPlaced) {
  for (const bool one_touch : {false, true}) {
    for (const bool touched : {false, true}) {
      for (const uint32_t last_byte : {4999u, 5000u, 6000u, 1u}) {
        EXPECT_EQ(DecideTouch({false, StreamNumber(last_byte)}, one_touch, touched, At(5000)),
                  TouchAction::kPlace);
      }
    }
  }
}

TEST(OneTouchTest, AnOrdinaryKeyServesManyMessages) {
  for (const uint32_t last_byte : {4999u, 5000u, 6000u, 1u}) {
    EXPECT_EQ(DecideTouch(End(last_byte), false, false, At(5000)), TouchAction::kPlace);
    EXPECT_EQ(DecideTouch(End(last_byte), false, true, At(5000)), TouchAction::kPlace);
  }
}

TEST(OneTouchTest, ASecondMessageEndsAKeyThatAllowsOne) {
  for (const uint32_t last_byte : {4999u, 5000u, 6000u, 1u}) {
    EXPECT_EQ(DecideTouch(End(last_byte), true, true, At(5000)),
              TouchAction::kInvalidateAndTerminate);
  }
}

TEST(OneTouchTest, WithoutAWindowOnlyTheNextByteIsAcceptable) {
  const StreamPosition closed{StreamNumber(10), 0};
  EXPECT_EQ(DecideTouch(End(9), true, false, closed), TouchAction::kPlaceAndInvalidate);
  EXPECT_EQ(DecideTouch(End(10), true, false, closed), TouchAction::kDrop);
}

TEST(OneTouchTest, TheStreamHasCaughtUpWhenItExpectsALaterByte) {
  EXPECT_FALSE(HasCaughtUp(StreamNumber(10), StreamNumber(9)));
  EXPECT_FALSE(HasCaughtUp(StreamNumber(10), StreamNumber(10)));
  EXPECT_TRUE(HasCaughtUp(StreamNumber(10), StreamNumber(11)));
  EXPECT_FALSE(HasCaughtUp(StreamNumber(0), StreamNumber(UINT32_MAX)));
  EXPECT_TRUE(HasCaughtUp(StreamNumber(UINT32_MAX), StreamNumber(0)));
}

}  // namespace
}  // namespace verbena::memory
