// Guarded accesses that sleep on stuck pages, and threads that are interrupted in them.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "memory/copy/guarded_copy.h"
#include "memory/copy/signal_guard.h"
#include "tests/support/stuck_pages.h"

namespace verbena::memory {
namespace {

constexpr auto kUserMode = StuckPages::Faults::kOfUserMode;

class InterruptThreads : public testing::Test {
 protected:
  void SetUp() override {
    if (!VERBENA_GUARDED_ASSEMBLY) GTEST_SKIP() << "guarded accesses raise no signal";
    if (!StuckPages::IsAllowed(kUserMode)) GTEST_SKIP() << "no userfaultfd";
    SignalGuard::Install();
    pages_.emplace(2, kUserMode);
    pages_->bytes()[0] = std::byte{7};
    pages_->Stick(1, 1);
  }

  // Runs access() on another thread, and interrupts it until it ends. Returns the number of
  // interrupts.
  template <class AccessKind>
  int CallBackFrom(AccessKind access, useconds_t pause = 1'000, int most = 1'000) {
    std::atomic<pid_t> thread = 0;
    std::atomic<bool> has_ended = false;
    std::thread other([&] {
      thread = gettid();
      access();
      has_ended = true;
    });
    int calls = 0;
    for (; !has_ended && calls < most; ++calls) {
      usleep(pause);
      if (thread != 0) SignalGuard::Interrupt(thread);
    }
    if (!has_ended) pages_->Release();
    other.join();
    return calls;
  }

  std::optional<StuckPages> pages_;
  std::array<std::byte, 4'096> own_{};
};

TEST_F(InterruptThreads, AnInterruptedCopyEndsAtTheMissingByte) {
  for (const bool reads : {true, false}) {
    for (const size_t size : {3U, 16U, 60U, 100U, 1'000U}) {
      std::byte* const border = pages_->bytes().data() + StuckPages::kPage;
      std::byte* const there = border - 2;
      CopyResult result;
      const int calls = CallBackFrom([&] {
        result =
            reads ? GuardedCopy(own_.data(), there, size) : GuardedCopy(there, own_.data(), size);
      });
      EXPECT_LT(calls, 1'000) << size;
      EXPECT_EQ(result.copied, 2U) << size;
      EXPECT_EQ(result.fault, MachineAddressOf(border)) << size;
    }
  }
}

TEST_F(InterruptThreads, AnInterruptedAtomicHasNoEffect) {
  std::byte* const word = pages_->bytes().data() + StuckPages::kPage;
  std::optional<Result<uint64_t, MemoryFault>> result;
  EXPECT_LT(CallBackFrom([&] { result = GuardedFetchAdd64(word, 1); }), 1'000);
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->has_value());
  pages_->Release();
  EXPECT_EQ(*GuardedLoad64(word), 0U);
}

// For an interrupt at any instruction: an addition is executed once, or not executed and reported
// as failed; a copy has copied as many bytes as it reports.
TEST_F(InterruptThreads, AnInterruptOfARunningThreadHasNoEffect) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP()
      << "clang's TSan delivers a signal at the next system call, and this thread has none";
#endif
#endif
  alignas(8) uint64_t sum = 0;
  uint64_t added = 0, whole = 0;
  std::array<std::byte, 100> copy{};
  own_.fill(std::byte{7});
  constexpr int kTimes = 200'000;
  const auto access = [&] {
    for (int i = 0; i < kTimes; ++i) {
      if (GuardedFetchAdd64(&sum, 1).has_value()) ++added;
      copy.fill(std::byte{0});
      const CopyResult result = GuardedCopy(copy.data(), own_.data(), copy.size());
      whole += static_cast<size_t>(std::ranges::count(copy, std::byte{7})) >= result.copied ? 1 : 0;
    }
  };
  EXPECT_GT(CallBackFrom(access, 10, 1'000'000), 100);
  EXPECT_EQ(sum, added);
  EXPECT_EQ(whole, uint64_t{kTimes});
}

}  // namespace
}  // namespace verbena::memory
