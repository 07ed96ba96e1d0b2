#include "adapter/loop/alarm.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace verbena::adapter {
namespace {

// On CLOCK_MONOTONIC, the clock that Now() reads. A time of 0 would disarm the timer.
itimerspec AtTime(Time time) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t ns = std::max<int64_t>(time.nanoseconds(), 1);
  itimerspec spec{};
  spec.it_value.tv_sec = static_cast<time_t>(ns / kSecond);
  spec.it_value.tv_nsec = ns % kSecond;
  return spec;
}

}  // namespace

ErrorOr<Alarm> Alarm::Make() {
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (fd < 0) return Fail(SystemError("timerfd"));
  return Alarm(fabric::FileDescriptor(fd));
}

void Alarm::WakeBy(Time time) {
  if (time >= set_to_) return;
  set_to_ = time;
  const itimerspec spec = AtTime(time);
  CHECK(timerfd_settime(fd(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
}

void Alarm::Reset() {
  set_to_ = Time::Never();
  const itimerspec off{};
  CHECK(timerfd_settime(fd(), 0, &off, nullptr) == 0);
}

}  // namespace verbena::adapter
