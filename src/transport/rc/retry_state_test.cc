#include "transport/rc/retry_state.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

TEST(RetryStateTest, CountsRetriesUntilThereIsProgress) {
  RetryState retry(Milliseconds(1), 2, 1);
  EXPECT_TRUE(retry.TakeRetry());
  EXPECT_TRUE(retry.TakeRetry());
  EXPECT_FALSE(retry.TakeRetry());
  EXPECT_TRUE(retry.TakeRnrRetry());
  EXPECT_FALSE(retry.TakeRnrRetry());
  retry.OnProgress();
  EXPECT_TRUE(retry.TakeRetry());
  EXPECT_TRUE(retry.TakeRnrRetry());
}

TEST(RetryStateTest, ALateTimeoutCostsNoRetry) {
  RetryState retry(Milliseconds(8), 1, 0);
  const Time now(Seconds(1));
  retry.StartTimer(now);
  retry.OnTimeout(now + Milliseconds(11));
  EXPECT_FALSE(retry.timer_runs());
  EXPECT_TRUE(retry.TakeRetry()) << "this one is free";
  retry.StartTimer(now);
  retry.OnTimeout(now + Milliseconds(9));
  EXPECT_TRUE(retry.TakeRetry()) << "and this one is on time";
  EXPECT_FALSE(retry.TakeRetry());
}

TEST(RetryStateTest, LateTimeoutsAreFreeOnlyRetryCountTimes) {
  RetryState retry(Milliseconds(8), 2, 0);
  int tries = 0;
  const auto fail_late = [&] {
    retry.StartTimer(Time(Seconds(1)));
    retry.OnTimeout(Time(Seconds(2)));
    return retry.TakeRetry();
  };
  while (fail_late()) ++tries;
  EXPECT_EQ(tries, 4);
  retry.OnProgress();
  EXPECT_TRUE(fail_late() && fail_late() && fail_late());
}

TEST(RetryStateTest, SevenRnrRetriesAreUnlimited) {
  RetryState retry(Milliseconds(1), 0, RetryState::kRnrForEver);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(retry.TakeRnrRetry());
  EXPECT_FALSE(retry.TakeRetry());
}

TEST(RetryStateTest, AWaitReplacesTheTimer) {
  RetryState retry(Milliseconds(1), 1, 1);
  const Time now(Seconds(1));
  retry.StartTimer(now);
  EXPECT_EQ(retry.next(), now + Milliseconds(1));
  retry.Wait(now + Milliseconds(5));
  EXPECT_TRUE(retry.is_waiting());
  EXPECT_FALSE(retry.timer_runs());
  EXPECT_EQ(retry.next(), now + Milliseconds(5));
  retry.StopWaiting();
  EXPECT_EQ(retry.next(), Time::Never());
}

TEST(RetryStateTest, WithoutATimeoutTheTimerNeverRuns) {
  RetryState retry(Duration::Max(), 1, 1);
  retry.StartTimer(Time(Seconds(1)));
  EXPECT_FALSE(retry.timer_runs());
}

}  // namespace
}  // namespace verbena::transport
