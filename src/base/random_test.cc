#include "base/random.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace verbena {
namespace {

constexpr uint64_t kTop = std::numeric_limits<uint64_t>::max();

static_assert(std::uniform_random_bit_generator<Random>);

// Computed with a separate program from the published definitions of both algorithms.
TEST(RandomTest, ProducesThePublishedSequence) {
  Random zero(0);
  EXPECT_EQ(zero.Next64(), 0x99EC5F36CB75F2B4u);
  EXPECT_EQ(zero.Next64(), 0xBF6E1F784956452Au);
  EXPECT_EQ(zero.Next64(), 0x1A5F849D4933E6E0u);
  EXPECT_EQ(zero.Next64(), 0x6AA594F1262D2D2Cu);
  Random top(kTop);
  EXPECT_EQ(top.Next64(), 0x8F5520D52A7EAD08u);
  EXPECT_EQ(top.Next64(), 0xC476A018CAA1802Du);
}

TEST(RandomTest, Next32IsTheUpperHalf) {
  Random random(42);
  EXPECT_EQ(random.Next32(), 0x15780B2Eu);
  EXPECT_EQ(random.Next32(), 0x6104D986u);
}

TEST(RandomTest, ACopyRepeatsTheStream) {
  Random random(9);
  random.Next64();
  Random copy = random;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(copy.Next64(), random.Next64());
}

TEST(RandomTest, BelowIsUniform) {
  Random random(1);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts.at(random.Below(6));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

// For this n a plain multiply-shift hits every third result twice as often as the others.
TEST(RandomTest, BelowIsUnbiasedForLargeRanges) {
  Random random(2);
  constexpr uint64_t kN = uint64_t{3} << 62;
  std::array<int, 3> counts{};
  for (int i = 0; i < 30'000; ++i) {
    const uint64_t draw = random.Below(kN);
    ASSERT_LT(draw, kN);
    ++counts.at(draw % 3);
  }
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(RandomTest, BelowOneIsZero) {
  Random random(3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.Below(1), 0u);
}

TEST(RandomTest, BetweenIncludesBothEnds) {
  Random random(4);
  std::map<uint64_t, int> counts;
  for (int i = 0; i < 1000; ++i) ++counts[random.Between(kTop - 2, kTop)];
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts.begin()->first, kTop - 2);
  EXPECT_EQ(random.Between(7, 7), 7u);
}

TEST(RandomTest, BetweenSpansEverything) {
  Random random(5);
  Random same(5);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.Between(0, kTop), same.Next64());
}

TEST(RandomTest, ChanceHasItsProbability) {
  Random random(6);
  int hits = 0;
  for (int i = 0; i < 40'000; ++i) hits += random.Chance(1, 4) ? 1 : 0;
  EXPECT_NEAR(hits, 10'000, 500);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(random.Chance(0, 3));
    EXPECT_TRUE(random.Chance(3, 3));
  }
}

TEST(RandomTest, ShuffleReachesEveryOrderEquallyOften) {
  Random random(7);
  std::map<std::vector<int>, int> counts;
  for (int i = 0; i < 24'000; ++i) {
    std::vector<int> items = {1, 2, 3, 4};
    random.Shuffle(items);
    ++counts[items];
  }
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 200);
}

TEST(RandomTest, ShuffleTakesSpansAndSmallRanges) {
  Random random(8);
  std::array<int, 10> items = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  random.Shuffle(std::span(items).first(5));
  EXPECT_TRUE(
      std::is_permutation(items.begin(), items.begin() + 5, std::array{0, 1, 2, 3, 4}.begin()));
  for (std::size_t i = 5; i < 10; ++i) EXPECT_EQ(items[i], static_cast<int>(i));
  random.Shuffle(std::span<int>());
  random.Shuffle(std::span(items).first(1));
}

TEST(RandomTest, ForksAreStreamsOfTheirOwn) {
  Random parent(9);
  Random first = parent.Fork();
  Random second = parent.Fork();
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t a = parent.Next64();
    const uint64_t b = first.Next64();
    const uint64_t c = second.Next64();
    equal += (a == b ? 1 : 0) + (b == c ? 1 : 0) + (a == c ? 1 : 0);
  }
  EXPECT_EQ(equal, 0);
}

TEST(RandomTest, ForksAreFixedByTheSeed) {
  Random a(10);
  Random b(10);
  Random fork_of_a = a.Fork();
  for (int i = 0; i < 50; ++i) fork_of_a.Next64();  // does not disturb its parent
  EXPECT_EQ(Random(10).Fork().Next64(), b.Fork().Next64());
  EXPECT_EQ(a.Next64(), b.Next64());
}

TEST(RandomDeathTest, RefusesEmptyRanges) {
  Random random(11);
  EXPECT_DEATH(random.Below(0), "CHECK failed");
  EXPECT_DEATH(random.Between(2, 1), "CHECK failed");
}

}  // namespace
}  // namespace verbena
