#include "adapter/loop/stuck_watch.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "memory/copy/guarded_copy.h"
#include "memory/copy/signal_guard.h"
#include "tests/support/stuck_pages.h"

namespace verbena::adapter {
namespace {

constexpr auto kUserMode = StuckPages::Faults::kOfUserMode;

// No other thread wants the lock.
TEST(StuckWatchThreads, CallsBackAHolderThatSleepsForAPage) {
  if (!VERBENA_GUARDED_ASSEMBLY) GTEST_SKIP() << "guarded accesses raise no signal";
  if (!StuckPages::IsAllowed(kUserMode)) GTEST_SKIP() << "no userfaultfd";
  memory::SignalGuard::Install();
  LockHolder holder;
  StuckWatch watch(holder, std::move(*Alarm::Make()));
  for (int round = 0; round < 3; ++round) {
    StuckPages pages(1, kUserMode);
    pages.Stick(0, 1);
    std::atomic<bool> has_ended = false;
    bool has_fault = false;
    std::thread thread([&] {
      std::array<std::byte, 64> bytes{};
      holder.Enter();
      watch.Arm();
      has_fault =
          memory::GuardedCopy(bytes.data(), pages.bytes().data(), bytes.size()).fault.has_value();
      holder.Leave();
      has_ended = true;
    });
    for (const Time end = Now() + Seconds(10); !has_ended && Now() < end;) usleep(100);
    EXPECT_TRUE(has_ended) << "round " << round;
    pages.Release();
    thread.join();
    EXPECT_TRUE(has_fault);
  }
}

TEST(StuckWatchThreads, StopsArmedOrNot) {
  for (const bool is_armed : {false, true}) {
    LockHolder holder;
    StuckWatch watch(holder, std::move(*Alarm::Make()));
    if (is_armed) watch.Arm();
  }
}

}  // namespace
}  // namespace verbena::adapter
