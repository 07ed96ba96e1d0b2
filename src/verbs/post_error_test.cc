#include "verbena/post_error.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(PostErrorTest, EveryReasonHasItsOwnName) {
  std::set<std::string> names;
  for (size_t i = 0; i < kPostReasonCount; ++i) {
    names.insert(NameOf(static_cast<PostReason>(i)));
  }
  EXPECT_EQ(names.size(), kPostReasonCount);
  EXPECT_FALSE(names.contains("?"));
  EXPECT_STREQ(NameOf(static_cast<PostReason>(kPostReasonCount)), "?");
}

TEST(PostErrorTest, NamesTheValueAndTheLimit) {
  EXPECT_EQ(ToString(PostError::Exceeds(PostReason::kTooManySges, 5, 4)),
            "data: more elements than sges_max of the queue (5, at most 4)");
  EXPECT_EQ(ToString(PostError::Exceeds(PostReason::kInlineTooLong, 129, 128)),
            "data: more bytes than inline_max of the queue (129, at most 128)");
  EXPECT_EQ(ToString(PostError::Exceeds(PostReason::kTooManyPages, 9, 0)),
            "registration.pages: more pages than pages_max of the queue (9, at most 0)");
  EXPECT_EQ(ToString(PostError::Exceeds(PostReason::kQueueFull, 64, 64)),
            "the queue is full: its capacity is 64");
}

TEST(PostErrorTest, NamesTheState) {
  EXPECT_EQ(ToString(PostError{PostReason::kSendsNeedRts, QpState::kRtr}),
            "sends are posted in state RTS or later: the queue pair is in RTR");
  EXPECT_EQ(ToString(PostError{PostReason::kReceivesNeedInit, QpState::kReset}),
            "receives are posted in state INIT or later: the queue pair is in RESET");
}

TEST(PostErrorTest, OtherReasonsHaveNoFigures) {
  EXPECT_EQ(ToString(PostError{PostReason::kNegativeDuration}), "duration: must not be negative");
}

TEST(PostErrorTest, ClampsFiguresThatDoNotFit) {
  EXPECT_EQ(PostError::Exceeds(PostReason::kInlineTooLong, uint64_t{1} << 32, 8).given,
            0xFFFF'FFFF);
}

TEST(PostErrorTest, HasTheCodeOfTheVerbs) {
  EXPECT_EQ(PostError{PostReason::kQueueFull}.code(), ErrorCode::kLimit);
  EXPECT_EQ(PostError{PostReason::kForked}.code(), ErrorCode::kForked);
  EXPECT_EQ(PostError{PostReason::kNoDestination}.code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace verbena
