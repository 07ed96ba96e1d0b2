#include "rdmacm/rsocket/watch.h"

#include <poll.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

bool IsSignalled(const Waker& waker) {
  pollfd file{.fd = waker.fd(), .events = POLLIN, .revents = 0};
  return poll(&file, 1, 0) == 1;
}

TEST(WatchThreads, AThreadDoesNotSignalItself) {
  Watchers watchers;
  const Watch watch(watchers);
  watchers.Notify();
  EXPECT_FALSE(IsSignalled(watch.waker()));
}

TEST(WatchThreads, AnotherThreadSignalsTheWatchers) {
  Watchers watchers;
  {
    const Watch watch(watchers);
    std::thread([&] { watchers.Notify(); }).join();
    EXPECT_TRUE(IsSignalled(watch.waker()));
    watch.waker().Drain();
    EXPECT_FALSE(IsSignalled(watch.waker()));
  }
  std::thread([&] { watchers.Notify(); }).join();
  EXPECT_FALSE(IsSignalled(Waker::OfThisThread()));
}

TEST(WatchThreads, AllWatchersAreSignalled) {
  Watchers watchers;
  std::atomic<int> watching = 0, woken = 0;
  const auto sleep = [&] {
    const Watch watch(watchers);
    ++watching;
    pollfd file{.fd = watch.waker().fd(), .events = POLLIN, .revents = 0};
    if (poll(&file, 1, 10'000) == 1) ++woken;
  };
  std::thread a(sleep), b(sleep);
  while (watching < 2) std::this_thread::yield();
  watchers.Notify();
  a.join();
  b.join();
  EXPECT_EQ(woken, 2);
}

}  // namespace
}  // namespace verbena::rsockets
