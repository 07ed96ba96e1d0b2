#include "memory/protection/page_list.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

bool Covers(const std::vector<PhysicalAddress>& pages, uint64_t first_offset, uint64_t length,
            PageShift shift = kSmall) {
  return CoversLength(PageListBacking{pages, first_offset, shift}, length);
}

TEST(PageListTest, CoversExactlyThePagesThatTheBytesNeed) {
  const auto two = Pages({0x1000, 0x9000});
  EXPECT_TRUE(Covers(two, 0, kPage + 1));
  EXPECT_TRUE(Covers(two, 0, 2 * kPage));
  EXPECT_TRUE(Covers(two, kPage - 1, 2));
  EXPECT_TRUE(Covers(two, kPage - 1, kPage + 1));
  EXPECT_FALSE(Covers(two, 0, kPage));
  EXPECT_FALSE(Covers(two, 0, 2 * kPage + 1));
  EXPECT_FALSE(Covers(two, kPage - 1, 1));
  EXPECT_FALSE(Covers(two, kPage - 1, kPage + 2));
}

TEST(PageListTest, NoBytesNeedNoPages) {
  EXPECT_TRUE(Covers({}, 0, 0));
  EXPECT_TRUE(Covers({}, 5, 0));
  EXPECT_FALSE(Covers({}, 0, 1));
  EXPECT_FALSE(Covers(Pages({0}), 0, 0));
}

TEST(PageListTest, TheFirstByteLiesInTheFirstPage) {
  EXPECT_FALSE(Covers(Pages({0}), kPage, 1));
  EXPECT_TRUE(Covers(Pages({0}), kPage, 1, kLarge));
}

TEST(PageListTest, EveryPageMustBeAligned) {
  EXPECT_FALSE(Covers(Pages({0x1000, 0x1800}), 0, 2 * kPage));
  EXPECT_FALSE(Covers(Pages({0x1000}), 0, 1, kLarge));
  EXPECT_TRUE(Covers(Pages({kMax - kPage + 1}), 0, kPage));
}

TEST(PageListTest, LengthsNear2To64DoNotWrap) {
  EXPECT_FALSE(Covers(Pages({0}), kPage - 1, kMax));
  EXPECT_FALSE(Covers(Pages({0}), 1, kMax));
  EXPECT_FALSE(Covers(Pages({0}), 0, kMax));
}

TEST(PageListTest, EveryPageIsMappedInOrder) {
  TranslationStore store(1);
  TranslationTable& table = **store.Create(6, kSmall, kMachineSpace, std::nullopt);
  // A run, a lower page, a page twice, and the last page of 2^64 followed by the first.
  const auto pages = Pages({0x4000, 0x5000, 0x1000, 0x1000, kMax - kPage + 1, 0});
  MapPageList(store, table, PageListBacking{pages, 0, kSmall, false});
  for (uint64_t i = 0; i < pages.size(); ++i) {
    EXPECT_EQ(table.Find(i), PageEntry(pages[i], false)) << i;
  }
  EXPECT_TRUE(store.IsConsistent());
}

TEST(PageListTest, AShorterListDoesNotChangeOtherPages) {
  TranslationStore store(1);
  TranslationTable& table = **store.Create(3, kSmall, kMachineSpace, std::nullopt);
  const auto pages = Pages({0x4000});
  MapPageList(store, table, PageListBacking{pages, 0, kSmall});
  EXPECT_TRUE(table.Find(0).present());
  EXPECT_FALSE(table.Find(1).present());
}

}  // namespace
}  // namespace verbena::memory
