#include "adapter/loop/alarm.h"

#include <poll.h>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace verbena::adapter {
namespace {

bool GoesOffWithin(const Alarm& alarm, int milliseconds) {
  pollfd wait{.fd = alarm.fd(), .events = POLLIN, .revents = 0};
  return poll(&wait, 1, milliseconds) == 1;
}

TEST(Alarm, GoesOffAtItsTimeAndNotBefore) {
  ErrorOr<Alarm> alarm = Alarm::Make();
  ASSERT_TRUE(alarm.has_value());
  EXPECT_FALSE(GoesOffWithin(*alarm, 0));
  const Time start = Now();
  alarm->WakeBy(start + Milliseconds(20));
  EXPECT_TRUE(GoesOffWithin(*alarm, 5'000));
  EXPECT_GE(Now() - start, Milliseconds(20));
  alarm->Reset();
  EXPECT_FALSE(GoesOffWithin(*alarm, 0));
}

TEST(Alarm, IsSetEarlierButNotLater) {
  ErrorOr<Alarm> alarm = Alarm::Make();
  const Time soon = Now() + Milliseconds(1);
  alarm->WakeBy(Now() + Seconds(1'000));
  alarm->WakeBy(soon);
  alarm->WakeBy(Now() + Seconds(1'000));
  alarm->WakeBy(Time::Never());
  EXPECT_EQ(alarm->set_to(), soon);
  EXPECT_TRUE(GoesOffWithin(*alarm, 5'000));
}

TEST(Alarm, ATimeInThePastGoesOffAtOnce) {
  ErrorOr<Alarm> alarm = Alarm::Make();
  alarm->WakeBy(Time());
  EXPECT_TRUE(GoesOffWithin(*alarm, 5'000));
}

}  // namespace
}  // namespace verbena::adapter
