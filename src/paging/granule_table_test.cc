#include "paging/granule_table.h"

#include <gtest/gtest.h>

namespace verbena::paging {
namespace {

TEST(GranuleTable, StartsWithZerosThatUseNoMemory) {
  const GranuleTable table(100);
  EXPECT_EQ(table.granule_count(), 100U);
  EXPECT_EQ(table.frame_count(), 0U);
  EXPECT_EQ(table.place(99), Place::kZero);
  EXPECT_EQ(table.stamp(99), 0U);
  EXPECT_EQ(table.Find(99), nullptr);
}

TEST(GranuleTable, KnowsTheFrameOfAGranule) {
  GranuleTable table(100);
  Frame& frame = table.Add(7);
  EXPECT_EQ(frame.granule, 7U);
  EXPECT_EQ(table.Find(7), &frame);
  EXPECT_EQ(table.place(7), Place::kInMemory);
  EXPECT_EQ(table.frame_count(), 1U);
  EXPECT_TRUE(table.IsConsistent());
}

TEST(GranuleTable, RemembersPlaceAndStampOfAnEvictedGranule) {
  GranuleTable table(100);
  table.Remove(table.Add(7), Place::kSwapped, kStampMax);
  EXPECT_EQ(table.place(7), Place::kSwapped);
  EXPECT_EQ(table.stamp(7), kStampMax);
  table.SetPlace(7, Place::kBroken);
  EXPECT_EQ(table.place(7), Place::kBroken);
  EXPECT_EQ(table.stamp(7), kStampMax);
}

TEST(GranuleTable, ReusedFramesAreAsNew) {
  GranuleTable table(100);
  Frame& first = table.Add(7);
  first.is_dirty = true;
  first.uses = 3;
  table.Remove(first, Place::kSwapped, 1);
  Frame& second = table.Add(8);
  EXPECT_EQ(&second, &first);
  EXPECT_FALSE(second.is_dirty);
  EXPECT_EQ(second.uses, 0);
  EXPECT_TRUE(table.IsConsistent());
}

TEST(GranuleTable, FramesKeepTheirAddress) {
  GranuleTable table(10'000);
  Frame& first = table.Add(0);
  for (uint32_t granule = 1; granule < 10'000; ++granule) table.Add(granule);
  EXPECT_EQ(table.Find(0), &first);
  uint32_t count = 0;
  table.ForEachFrame([&](const Frame&) { ++count; });
  EXPECT_EQ(count, 10'000U);
  EXPECT_TRUE(table.IsConsistent());
}

TEST(GranuleTable, TakesTheLargestArena) {
  GranuleTable table(GranuleTable::kGranulesMax);
  table.Add(GranuleTable::kGranulesMax - 1);
  EXPECT_EQ(table.place(GranuleTable::kGranulesMax - 1), Place::kInMemory);
  EXPECT_EQ(table.place(GranuleTable::kGranulesMax / 2), Place::kZero);
}

TEST(GranuleTableDeathTest, ChecksItsCallers) {
  GranuleTable table(10);
  EXPECT_DEATH(static_cast<void>(table.place(10)), "CHECK failed");
  Frame& frame = table.Add(3);
  EXPECT_DEATH(table.Add(3), "CHECK failed");
  frame.holds = 1;
  EXPECT_DEATH(table.Remove(frame, Place::kZero, 0), "CHECK failed");
}

TEST(FrameList, IsAQueueWithRemovalAnywhere) {
  Frame a;
  Frame b;
  Frame c;
  FrameList list;
  list.PushNewest(a);
  list.PushNewest(b);
  list.PushNewest(c);
  EXPECT_EQ(list.size(), 3U);
  FrameList::Unlink(b);
  EXPECT_EQ(b.list, nullptr);
  FrameList::Unlink(b);  // in no list: nothing to do
  list.PushNewest(b);
  EXPECT_EQ(list.PopOldest(), &a);
  EXPECT_EQ(list.PopOldest(), &c);
  EXPECT_EQ(list.oldest(), &b);
  FrameList::Unlink(b);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.PopOldest(), nullptr);
}

}  // namespace
}  // namespace verbena::paging
