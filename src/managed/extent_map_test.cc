#include "managed/extent_map.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::managed {
namespace {

TEST(ExtentMap, HasNoRoomBeforeItGrew) {
  ExtentMap map;
  EXPECT_FALSE(map.Take(1));
  map.Grow(1);
  EXPECT_EQ(map.unit_count(), 64u);
  EXPECT_TRUE(map.Take(1));
}

TEST(ExtentMap, ExtentsOfOneSizeAreAdjacent) {
  ExtentMap map;
  map.Grow(2);
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(map.Take(8), i * 8);
  EXPECT_FALSE(map.Take(8));
  EXPECT_FALSE(map.Take(1));
  EXPECT_EQ(map.used_units(), 128u);
}

TEST(ExtentMap, SizesThatDoNotDivideASlabLeaveItsEndUnused) {
  ExtentMap map;
  map.Grow(1);
  for (uint32_t i = 0; i < 12; ++i) EXPECT_EQ(map.Take(5), i * 5);
  EXPECT_FALSE(map.Take(5));
  EXPECT_TRUE(map.IsConsistent());
}

TEST(ExtentMap, AFreedExtentIsTakenAgain) {
  ExtentMap map;
  map.Grow(1);
  while (map.Take(4)) {
  }
  map.Give(20, 4);
  EXPECT_EQ(map.Take(4), 20u);
  EXPECT_FALSE(map.Take(4));
}

TEST(ExtentMap, AnEmptySlabServesAnotherSize) {
  ExtentMap map;
  map.Grow(1);
  const uint32_t a = map.Take(3).value();
  const uint32_t b = map.Take(3).value();
  EXPECT_FALSE(map.Take(8)) << "the slab is of another size";
  map.Give(a, 3);
  EXPECT_FALSE(map.Take(8));
  map.Give(b, 3);
  EXPECT_EQ(map.Take(8), 0u);
}

TEST(ExtentMap, GrowsWhileInUse) {
  ExtentMap map;
  map.Grow(1);
  while (map.Take(8)) {
  }
  map.Grow(1);
  EXPECT_EQ(map.Take(8), 64u);
  EXPECT_TRUE(map.IsConsistent());
}

TEST(ExtentMapDeathTest, GivingAnExtentThatWasNotTakenDies) {
  ExtentMap map;
  map.Grow(1);
  const uint32_t taken = map.Take(2).value();
  EXPECT_DEATH(map.Give(taken + 2, 2), "CHECK");
  EXPECT_DEATH(map.Give(taken, 3), "CHECK");
  EXPECT_DEATH(map.Give(taken + 1, 2), "CHECK");
}

TEST(ExtentMap, RandomUseNeverOverlaps) {
  Random random(7);
  ExtentMap map;
  map.Grow(16);
  std::map<uint32_t, uint32_t> taken;  // first unit to number
  for (int step = 0; step < 20'000; ++step) {
    if (random.Chance(1, 2) && !taken.empty()) {
      const auto it = std::next(taken.begin(), static_cast<long>(random.Below(taken.size())));
      map.Give(it->first, it->second);
      taken.erase(it);
    } else {
      const auto units = static_cast<uint32_t>(random.Between(1, 8));
      const auto first = map.Take(units);
      if (!first) continue;
      ASSERT_LE(*first + units, map.unit_count());
      const auto [it, fresh] = taken.emplace(*first, units);
      ASSERT_TRUE(fresh);
      if (it != taken.begin()) {
        const auto before = std::prev(it);
        ASSERT_LE(before->first + before->second, *first);
      }
      const auto behind = std::next(it);
      if (behind != taken.end()) {
        ASSERT_LE(*first + units, behind->first);
      }
    }
    if (step % 500 == 0) {
      ASSERT_TRUE(map.IsConsistent());
    }
  }
  for (const auto& [first, units] : taken) map.Give(first, units);
  EXPECT_EQ(map.used_units(), 0u);
  EXPECT_TRUE(map.IsConsistent());
}

}  // namespace
}  // namespace verbena::managed
