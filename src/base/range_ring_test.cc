#include "base/range_ring.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace verbena {
namespace {

using SmallRing = RangeRing<std::atomic, 4>;

TEST(RangeRingTest, GivesBackInOrder) {
  SmallRing ring;
  EXPECT_FALSE(ring.is_ready());
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(ring.Push({i, i + 1}));
    EXPECT_TRUE(ring.Push({i + 100, i + 101}));
    EXPECT_TRUE(ring.is_ready());
    EXPECT_EQ(ring.Pop(), (Interval{i, i + 1}));
    EXPECT_EQ(ring.Pop(), (Interval{i + 100, i + 101}));
    EXPECT_EQ(ring.Pop(), std::nullopt);
  }
}

TEST(RangeRingTest, AFullOneRefuses) {
  SmallRing ring;
  for (uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(ring.Push({i, i}));
  EXPECT_FALSE(ring.Push({9, 9}));
  EXPECT_EQ(ring.Pop(), (Interval{0, 0}));
  EXPECT_TRUE(ring.Push({4, 4}));
  EXPECT_FALSE(ring.Push({9, 9}));
}

TEST(RangeRingThreads, NothingIsLostOrTornBetweenSeveralWriters) {
  constexpr uint64_t kEach = 20'000, kWriters = 3;
  RangeRing<std::atomic, 64> ring;
  std::vector<std::thread> writers;
  for (uint64_t writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (uint64_t i = 0; i < kEach; ++i) {
        const uint64_t value = i * kWriters + writer;
        while (!ring.Push({value, ~value})) std::this_thread::yield();
      }
    });
  }
  std::vector<uint64_t> next(kWriters, 0);
  for (uint64_t count = 0; count < kEach * kWriters;) {
    const auto range = ring.Pop();
    if (!range) continue;
    ++count;
    ASSERT_EQ(range->last, ~range->first);
    ASSERT_EQ(range->first / kWriters, next[range->first % kWriters]++) << "in its writer's order";
  }
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace verbena
