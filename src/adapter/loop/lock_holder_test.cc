#include "adapter/loop/lock_holder.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "memory/copy/guarded_copy.h"
#include "memory/copy/signal_guard.h"
#include "tests/support/stuck_pages.h"

namespace verbena::adapter {
namespace {

constexpr auto kUserMode = StuckPages::Faults::kOfUserMode;

class LockHolderThreads : public testing::Test {
 protected:
  void SetUp() override {
    if (!VERBENA_GUARDED_ASSEMBLY) GTEST_SKIP() << "guarded accesses raise no signal";
    if (!StuckPages::IsAllowed(kUserMode)) GTEST_SKIP() << "no userfaultfd";
    memory::SignalGuard::Install();
  }

  // Runs access() on a thread that holds the lock, while this thread finds the lock taken. Whether
  // it ended within ten seconds.
  template <class Access>
  bool EndsWhenWanted(Access access, StuckPages* pages) {
    std::atomic<bool> has_ended = false;
    std::thread thread([&] {
      holder_.Enter();
      access();
      holder_.Leave();
      has_ended = true;
    });
    const Time end = Now() + Seconds(10);
    for (; !has_ended && Now() < end; usleep(50)) looks_again_ |= holder_.OnTaken(Now());
    const bool ended = has_ended;
    if (!ended && pages != nullptr) pages->Release();
    thread.join();
    return ended;
  }

  LockHolder holder_;
  bool looks_again_ = false;  // OnTaken returned true: check again within kAgain
};

TEST_F(LockHolderThreads, AHolderThatSleepsForAPageIsCalledBack) {
  StuckPages pages(1, kUserMode);
  pages.Stick(0, 1);
  std::array<std::byte, 1'024> bytes{};
  memory::CopyResult result;
  const Time start = Now();
  EXPECT_TRUE(EndsWhenWanted(
      [&] { result = memory::GuardedCopy(pages.bytes().data(), bytes.data(), bytes.size()); },
      &pages));
  EXPECT_GE(Now() - start, LockHolder::kPatience);
  EXPECT_EQ(result.copied, 0U);
  EXPECT_TRUE(result.fault.has_value());
  EXPECT_TRUE(looks_again_);
}

// The holder soon meets the next stuck page, which must not take another 2 ms.
TEST_F(LockHolderThreads, AHoldSoonAfterACallIsCheckedSooner) {
  StuckPages pages(1, kUserMode);
  pages.Stick(0, 1);
  std::array<std::byte, 64> bytes{};
  ASSERT_TRUE(EndsWhenWanted(
      [&] {
        static_cast<void>(memory::GuardedCopy(bytes.data(), pages.bytes().data(), bytes.size()));
      },
      &pages));
  const Time called = Now();
  holder_.Enter();
  EXPECT_TRUE(holder_.OnTaken(called));
  holder_.Leave();
  holder_.Enter();
  EXPECT_FALSE(holder_.OnTaken(called + LockHolder::kRecent)) << "it was long ago";
  holder_.Leave();
}

// However long it holds the lock: it can be anywhere in the code.
TEST_F(LockHolderThreads, AHolderThatRunsIsLeftAlone) {
  alignas(8) uint64_t word = 0;
  uint64_t missed = 0;
  EXPECT_TRUE(EndsWhenWanted(
      [&] {
        for (const Time end = Now() + Milliseconds(50); Now() < end;) {
          if (!memory::GuardedFetchAdd64(&word, 1).has_value()) ++missed;
        }
      },
      nullptr));
  EXPECT_EQ(missed, 0U);
  EXPECT_FALSE(looks_again_);
}

// A thread that takes the lock again and again has a new hold each time.
TEST_F(LockHolderThreads, EachHoldGetsTheFullPatience) {
  const uint64_t before = holder_.holds();
  holder_.Enter();
  EXPECT_TRUE(holder_.is_held());
  holder_.Leave();
  EXPECT_FALSE(holder_.is_held());
  EXPECT_EQ(holder_.holds(), before + 1);
}

}  // namespace
}  // namespace verbena::adapter
