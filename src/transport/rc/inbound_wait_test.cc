#include "transport/rc/inbound_wait.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using State = InboundWait::State;

constexpr FaultTicket kFirst{1}, kSecond{2};

TEST(InboundWaitTest, GoesFromRequestedToResumedAndBack) {
  InboundWait wait;
  EXPECT_EQ(wait.state(), State::kNone);
  wait.Begin(kFirst, ResponderError::kPagesUnavailable, Time(Milliseconds(1)));
  EXPECT_TRUE(wait.IsFor(kFirst));
  wait.Resume(false);
  EXPECT_EQ(wait.state(), State::kResumed);
  EXPECT_FALSE(wait.IsFor(kFirst)) << "its answer has come";
  wait.RequestAgain(kSecond);
  EXPECT_TRUE(wait.IsFor(kSecond));
  EXPECT_EQ(wait.since(), Time(Milliseconds(1))) << "it is the same wait";
  wait.End();
  EXPECT_FALSE(wait.is_active());
  EXPECT_FALSE(wait.IsFor(kSecond));
}

TEST(InboundWaitTest, RepeatsAndNaksAreCountedPerWait) {
  InboundWait wait;
  wait.Begin(kFirst, ResponderError::kPagesUnavailable, Time());
  wait.Repeat();
  wait.CountNak();
  wait.NoteDropped();
  wait.Resume(true);
  wait.RequestAgain(kSecond);
  EXPECT_EQ(wait.repeats(), 1U);
  EXPECT_EQ(wait.naks(), 1U);
  EXPECT_TRUE(wait.has_dropped());
  wait.End();
  wait.Begin(kFirst, ResponderError::kPagesUnavailable, Time());
  EXPECT_EQ(wait.repeats(), 0U);
  EXPECT_EQ(wait.naks(), 0U);
  EXPECT_FALSE(wait.has_dropped());
  EXPECT_FALSE(wait.nak_was_sent());
}

TEST(InboundWaitTest, ARetransmissionNeedsAnotherNak) {
  InboundWait wait;
  wait.Begin(kFirst, ResponderError::kPagesUnavailable, Time());
  wait.Resume(true);
  wait.RequestAgain(kSecond);
  EXPECT_TRUE(wait.nak_was_sent());
  wait.Repeat();
  EXPECT_FALSE(wait.nak_was_sent());
}

}  // namespace
}  // namespace verbena::transport
