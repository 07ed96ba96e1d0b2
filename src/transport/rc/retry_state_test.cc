#include "transport/rc/retry_state.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

TEST(RetryStateTest, CountsTriesUntilThereIsProgress) {
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

TEST(RetryStateTest, SevenRnrRetriesAreForEver) {
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
