#include "memory/translation/reverse_map.h"

#include <deque>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

constexpr PageShift kSmall{12};
constexpr uint64_t kPage = 4096;
constexpr PhysicalSpace kGuest{7};

class ReverseMapTest : public testing::Test {
 protected:
  ~ReverseMapTest() override { EXPECT_TRUE(map_.IsConsistent()); }

  // The page numbers of `table_` that may be in [first, last]; `visits_` counts the records.
  std::set<uint64_t> Find(uint64_t first, uint64_t last, PhysicalSpace space = kMachineSpace) {
    std::set<uint64_t> numbers;
    visits_ = 0;
    map_.ForEach(space, first, last, [&](const ReverseMap::Place& place) {
      ++visits_;
      if (place.table == &table_) numbers.insert(place.number);
    });
    return numbers;
  }
  void NotePage(uint64_t address, uint64_t number, PhysicalSpace space = kMachineSpace) {
    map_.Add(space, address, address + kPage - 1, 12, {&table_, number});
  }

  TranslationTable table_{1000, kSmall, kMachineSpace, std::nullopt};
  std::deque<TranslationTable> others_;
  ReverseMap map_;
  uint64_t visits_ = 0;
};

using Numbers = std::set<uint64_t>;

TEST_F(ReverseMapTest, FindsAPageByAnyOfItsBytes) {
  NotePage(0x5000, 3);
  EXPECT_EQ(Find(0x5000, 0x5000), Numbers{3});
  EXPECT_EQ(Find(0x5fff, 0x5fff), Numbers{3});
  EXPECT_EQ(Find(0x4fff, 0x5000), Numbers{3});
  EXPECT_EQ(Find(0x4000, 0x4fff), Numbers{});
  EXPECT_EQ(Find(0x6000, 0x6000), Numbers{});
}

TEST_F(ReverseMapTest, KeepsSpacesApart) {
  NotePage(0x5000, 1);
  NotePage(0x5000, 2, kGuest);
  EXPECT_EQ(Find(0x5000, 0x5000), Numbers{1});
  EXPECT_EQ(Find(0x5000, 0x5000, kGuest), Numbers{2});
  EXPECT_EQ(Find(0, UINT64_MAX, kGuest), Numbers{2});
}

TEST_F(ReverseMapTest, ARangeAcrossABlockBorderIsFoundFromBothSides) {
  // 1 MiB into a 2 MiB block, and 2 MiB long.
  map_.Add(kMachineSpace, 0x100000, 0x2fffff, 21, {&table_, 0});
  EXPECT_EQ(map_.record_count(), 2u);
  EXPECT_EQ(Find(0x100000, 0x100000), Numbers{0});
  EXPECT_EQ(Find(0x2fffff, 0x2fffff), Numbers{0});
  map_.Remove(kMachineSpace, 0x100000, 0x2fffff, 21, {&table_, 0});
  EXPECT_EQ(map_.record_count(), 0u);
}

TEST_F(ReverseMapTest, RemoveUndoesOneAdd) {
  NotePage(0x5000, 1);
  NotePage(0x5000, 2);
  map_.Remove(kMachineSpace, 0x5000, 0x5fff, 12, {&table_, 1});
  EXPECT_EQ(Find(0x5000, 0x5000), Numbers{2});
  EXPECT_EQ(map_.record_count(), 1u);
}

TEST_F(ReverseMapTest, FindsAllSizesAtOnce) {
  NotePage(0x10000000, 1);
  map_.Add(kMachineSpace, 0x10000000, 0x101fffff, 21, {&table_, 0});
  map_.Add(kMachineSpace, 0x10000000, 0x1fffffff, 28, {&table_, 2});
  EXPECT_EQ(Find(0x10000000, 0x10000000), (Numbers{0, 1, 2}));
  EXPECT_EQ(Find(0x10001000, 0x10001000), (Numbers{0, 2}));
  EXPECT_EQ(Find(0x10200000, 0x10200000), Numbers{2});
}

TEST_F(ReverseMapTest, FindsTheLastByteOf2To64) {
  NotePage(UINT64_MAX - (kPage - 1), 9);
  EXPECT_EQ(Find(UINT64_MAX, UINT64_MAX), Numbers{9});
  EXPECT_EQ(Find(0, UINT64_MAX), Numbers{9});
  EXPECT_EQ(Find(0, UINT64_MAX - kPage), Numbers{});
}

// If a range has more blocks than there are records, ForEach visits the records instead. Both ways
// find the same.
TEST_F(ReverseMapTest, LongRangesFindTheSameAsShortOnes) {
  for (uint64_t i = 0; i < 20; ++i) NotePage(i * 2 * kPage, i);
  for (uint64_t pages = 1; pages <= 40; ++pages) {
    Numbers expected;
    for (uint64_t page = 0; page < pages; page += 2) expected.insert(page / 2);
    EXPECT_EQ(Find(0, pages * kPage - 1), expected) << pages;
  }
}

// Row E9: the cost depends on the invalidated pages, not on the number of regions.
TEST_F(ReverseMapTest, RecordsElsewhereAreNeverVisited) {
  NotePage(0x5000, 3);
  Find(0x5000, 0x6fff);
  const uint64_t visits_alone = visits_;
  for (uint64_t i = 0; i < 10000; ++i) {
    others_.emplace_back(1, kSmall, kMachineSpace, std::nullopt);
    const uint64_t at = 0x100000000 + i * kPage;
    map_.Add(kMachineSpace, at, at + kPage - 1, 12, {&others_.back(), 0});
    map_.Add(kGuest, 0x5000, 0x5fff, 12, {&others_.back(), 0});
  }
  EXPECT_EQ(Find(0x5000, 0x6fff), Numbers{3});
  EXPECT_EQ(visits_, visits_alone);
}

}  // namespace
}  // namespace verbena::memory
