#include "sim/slow_swap.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::sim {
namespace {

class SlowSwapTest : public testing::Test {
 protected:
  static constexpr uint64_t kOffset = 6'000;  // a transfer crosses two blocks

  // The result after the longest possible transfer time.
  int64_t Transfer(bool is_write) {
    Start(is_write);
    clock_.now = clock_.now + trouble_.latency_max;
    return Reap();
  }
  void Start(bool is_write) {
    part_ = {bytes_.data(), bytes_.size()};
    ASSERT_TRUE(swap_.Start(
        {.is_write = is_write, .offset = kOffset, .parts = {&part_, 1}, .token = ++token_}));
  }
  int64_t Reap() {
    std::array<managed::TransferEnd, 2> ends;
    EXPECT_EQ(swap_.Reap(ends), 1u);
    EXPECT_EQ(ends[0].token, token_);
    EXPECT_TRUE(swap_.is_idle());
    return ends[0].result;
  }
  void Fill(std::byte value) { std::ranges::fill(bytes_, value); }
  [[nodiscard]] ptrdiff_t Count(std::byte value) const { return std::ranges::count(bytes_, value); }

  VirtualClock clock_;
  SwapTrouble trouble_;
  SlowSwap swap_{trouble_, Random(1), clock_};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(4'096);
  iovec part_{};
  uint64_t token_ = 0;
};

TEST_F(SlowSwapTest, ReadsBackWhatWasWritten) {
  Fill(std::byte{1});
  EXPECT_EQ(Transfer(true), 4'096);
  Fill(std::byte{});
  EXPECT_EQ(Transfer(false), 4'096);
  EXPECT_EQ(Count(std::byte{1}), 4'096);
}

TEST_F(SlowSwapTest, ATransferTakesTime) {
  Start(true);
  std::array<managed::TransferEnd, 2> ends;
  EXPECT_EQ(swap_.Reap(ends), 0u);
  EXPECT_FALSE(swap_.is_idle());
  clock_.now = clock_.now + trouble_.latency_max;
  EXPECT_EQ(Reap(), 4'096);
}

TEST_F(SlowSwapTest, AChangeDuringAWriteTearsIt) {
  Fill(std::byte{1});
  Start(true);
  Fill(std::byte{2});
  clock_.now = clock_.now + trouble_.latency_max;
  EXPECT_EQ(Reap(), 4'096);
  EXPECT_EQ(Transfer(false), 4'096);
  EXPECT_EQ(Count(std::byte{1}), 2'048);
  EXPECT_EQ(Count(std::byte{2}), 2'048);
}

TEST_F(SlowSwapTest, CorruptsAByteOfWhatItReads) {
  Fill(std::byte{2});
  EXPECT_EQ(Transfer(true), 4'096);
  trouble_.corruption = 1000;
  EXPECT_EQ(Transfer(false), 4'096);
  EXPECT_EQ(Count(std::byte{2}), 4'095);
}

TEST_F(SlowSwapTest, FailsForAWhile) {
  trouble_.fails_until = clock_.now + Milliseconds(1);
  EXPECT_EQ(Transfer(true), -EIO);
  EXPECT_EQ(swap_.Reserve(0, 4'096), ENOSPC);
  EXPECT_EQ(Transfer(false), 4'096) << "it can be read";
  clock_.now = trouble_.fails_until;
  EXPECT_EQ(Transfer(true), 4'096);
  EXPECT_EQ(swap_.Reserve(0, 4'096), 0);
}

}  // namespace
}  // namespace verbena::sim
