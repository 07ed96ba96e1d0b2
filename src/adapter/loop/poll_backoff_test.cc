#include "adapter/loop/poll_backoff.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

using Step = PollBackoff::Step;

// A thread that polls every microsecond, on a clock that the test moves.
class PollBackoffTest : public testing::Test {
 protected:
  Step PollInVain() {
    now_ += Microseconds(1);
    return backoff_.OnEmpty(now_);
  }
  // Polls until the back-off says yield or nap; returns how long it has spun.
  Duration SpinUntilItYields() {
    const Time begin = now_ + Microseconds(1);
    while (PollInVain() == Step::kSpin) {
    }
    return now_ - begin;
  }
  void Yield(Duration took, bool preempted = true) {
    const Time before = now_;
    now_ += took;
    backoff_.OnYielded(before, now_, [&] { return preempted; });
  }
  void Nap() {
    now_ += PollBackoff::kNap;
    backoff_.OnNapped(now_);
  }
  // One wait that ends after other threads have run.
  void WaitForPeerOnThisCore() {
    SpinUntilItYields();
    Yield(Microseconds(5));
    EXPECT_TRUE(backoff_.OnWork());
  }

  PollBackoff backoff_;
  Time now_{Seconds(1)};
};

TEST_F(PollBackoffTest, SpinsForABoundedTimeAndThenYieldsWithEveryPoll) {
  EXPECT_EQ(SpinUntilItYields(), PollBackoff::kSpin);
  for (int i = 0; i < 100; ++i) {
    Yield(Nanoseconds(300));
    EXPECT_EQ(PollInVain(), Step::kYield);
  }
}

TEST_F(PollBackoffTest, APollThatTakesLongIsNoGap) {
  const auto poll_slowly = [&] {
    now_ += Microseconds(20);
    return backoff_.OnEmpty(now_);
  };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(poll_slowly(), Step::kSpin) << "nothing is known of it";
  for (int i = 0; i < 5; ++i) backoff_.OnTimed(Microseconds(20));
  static_cast<void>(poll_slowly());
  EXPECT_EQ(poll_slowly(), Step::kYield);
}

TEST_F(PollBackoffTest, ASinglePollThatTookLongCountsLittle) {
  for (int i = 0; i < 5; ++i) backoff_.OnTimed(Microseconds(1));
  backoff_.OnTimed(Milliseconds(4));
  SpinUntilItYields();
  now_ += Microseconds(20);
  EXPECT_EQ(backoff_.OnEmpty(now_), Step::kSpin) << "the program did something else";
}

TEST_F(PollBackoffTest, OneOfSoManyPollsIsTimed) {
  uint32_t timed = 0;
  for (uint32_t i = 0; i < 10 * PollBackoff::kTimed; ++i) timed += backoff_.WantsTime() ? 1 : 0;
  EXPECT_EQ(timed, 10U);
}

TEST_F(PollBackoffTest, AThreadCountsAsAPollerWhileItPollsBetweenPosts) {
  EXPECT_FALSE(backoff_.OnPost()) << "it has not polled yet";
  static_cast<void>(PollInVain());
  for (uint32_t i = 0; i < PollBackoff::kPostsMax; ++i) EXPECT_TRUE(backoff_.OnPost());
  EXPECT_FALSE(backoff_.OnPost());
}

TEST_F(PollBackoffTest, AThreadThatTakesEventsCountsAsAPoller) {
  backoff_.OnEvent();
  for (uint32_t i = 0; i < PollBackoff::kPostsMax; ++i) EXPECT_TRUE(backoff_.OnPost());
  EXPECT_FALSE(backoff_.OnPost());
}

TEST_F(PollBackoffTest, WorkBeginsANewSpin) {
  SpinUntilItYields();
  EXPECT_TRUE(backoff_.OnWork());
  EXPECT_FALSE(backoff_.OnWork()) << "it has not given way since";
  EXPECT_EQ(SpinUntilItYields(), PollBackoff::kSpin);
}

TEST_F(PollBackoffTest, AProgramThatWorksBetweenPollsDoesNotYield) {
  for (int i = 0; i < 100; ++i) {
    now_ += PollBackoff::kGap + Microseconds(1);
    EXPECT_EQ(backoff_.OnEmpty(now_), Step::kSpin);
  }
}

TEST_F(PollBackoffTest, YieldsAtOnceToAPeerOnTheSameCore) {
  for (int i = 0; i < 6; ++i) WaitForPeerOnThisCore();
  EXPECT_EQ(SpinUntilItYields(), Duration());
}

TEST_F(PollBackoffTest, KeepsSpinningIfACompletionArrives) {
  for (int i = 0; i < 6; ++i) WaitForPeerOnThisCore();
  uint32_t waits = 0;
  while (PollInVain() != Step::kSpin) {
    Yield(Microseconds(5));
    backoff_.OnWork();
    ASSERT_LE(++waits, PollBackoff::kProbe);
  }
  backoff_.OnWork();
  EXPECT_EQ(SpinUntilItYields(), PollBackoff::kSpin);
}

TEST_F(PollBackoffTest, NapsWhereAYieldCostsATimeSlice) {
  SpinUntilItYields();
  Yield(Milliseconds(4));
  EXPECT_EQ(PollInVain(), Step::kNap);
  Nap();
  EXPECT_EQ(PollInVain(), Step::kNap) << "for as long as this wait lasts";
}

TEST_F(PollBackoffTest, DoesNotNapAfterALongYieldInWhichNoThreadRan) {
  SpinUntilItYields();
  Yield(Milliseconds(4), /*preempted=*/false);
  EXPECT_EQ(PollInVain(), Step::kYield);
}

// Counts the waits in a row in which the poller naps.
TEST_F(PollBackoffTest, ProbesForOtherThreadsLessAndLessOften) {
  const auto naps_in_a_row = [&] {
    uint32_t waits = 0;
    while (true) {
      SpinUntilItYields();
      now_ -= Microseconds(1);
      if (PollInVain() == Step::kYield) return waits;
      ++waits;
      backoff_.OnWork();
    }
  };
  EXPECT_EQ(naps_in_a_row(), 0U);
  Yield(Milliseconds(4));
  EXPECT_EQ(naps_in_a_row(), PollBackoff::kNapsMin);
  Yield(Milliseconds(4));
  EXPECT_EQ(naps_in_a_row(), 4 * PollBackoff::kNapsMin);
  for (int i = 0; i < 5; ++i) {
    Yield(Milliseconds(4));
    EXPECT_LE(naps_in_a_row(), PollBackoff::kNapsMax);
  }
  Yield(Nanoseconds(300));
  EXPECT_EQ(naps_in_a_row(), 0U) << "no other thread wants the core any more";
  Yield(Milliseconds(4));
  EXPECT_EQ(naps_in_a_row(), PollBackoff::kNapsMin);
}

TEST_F(PollBackoffTest, SleepsOnALockThatOneHoldKeeps) {
  EXPECT_FALSE(backoff_.OnTaken(7, now_));
  EXPECT_FALSE(backoff_.OnTaken(7, now_ + PollBackoff::kHeld - Nanoseconds(1)));
  EXPECT_TRUE(backoff_.OnTaken(7, now_ + PollBackoff::kHeld));
  EXPECT_FALSE(backoff_.OnTaken(8, now_ + PollBackoff::kHeld)) << "passes that follow each other";
  EXPECT_TRUE(backoff_.OnTaken(8, now_ + PollBackoff::kHeld * 2));
}

}  // namespace
}  // namespace verbena::adapter
