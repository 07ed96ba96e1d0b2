#include "memory/spaces/inverted_page_table.h"

#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint32_t kFrames = 16;
constexpr ConsumerId kAlice{1}, kBob{2};

PhysicalAddress Frame(uint64_t number) { return PhysicalAddress(kBase + number * kPage); }

class InvertedPageTableTest : public testing::Test {
 protected:
  ~InvertedPageTableTest() override { EXPECT_TRUE(table_.IsConsistent()); }

  InvertedPageTable table_{PhysicalAddress(kBase), kFrames};
};

TEST_F(InvertedPageTableTest, FindsMappedPages) {
  ASSERT_TRUE(Succeeds(table_.Map(kAlice, 1000, Frame(3), true)));
  ASSERT_TRUE(Succeeds(table_.Map(kBob, 1000, Frame(4), false)));
  EXPECT_EQ(table_.Find(kAlice, 1000), PageEntry(Frame(3), true));
  EXPECT_EQ(table_.Find(kBob, 1000), PageEntry(Frame(4), false));
  EXPECT_FALSE(table_.Find(kAlice, 1001).present());
  EXPECT_FALSE(table_.Find(ConsumerId(3), 1000).present());
  EXPECT_EQ(table_.mapped_count(), 2u);
}

TEST_F(InvertedPageTableTest, AFrameBelongsToOnePageOfOneConsumer) {
  ASSERT_TRUE(Succeeds(table_.Map(kAlice, 1, Frame(0), true)));
  EXPECT_TRUE(FailsWith(table_.Map(kAlice, 2, Frame(0), true), MemoryError::kOverlap));
  EXPECT_TRUE(FailsWith(table_.Map(kBob, 1, Frame(0), true), MemoryError::kOverlap));
  EXPECT_EQ(table_.Find(kAlice, 1).address(), Frame(0));
  EXPECT_FALSE(table_.Find(kAlice, 2).present());
}

TEST_F(InvertedPageTableTest, MappingAgainMovesThePageOrChangesItsRight) {
  ASSERT_TRUE(Succeeds(table_.Map(kAlice, 1, Frame(0), true)));
  ASSERT_TRUE(Succeeds(table_.Map(kAlice, 1, Frame(0), false)));
  EXPECT_EQ(table_.Find(kAlice, 1), PageEntry(Frame(0), false));
  ASSERT_TRUE(Succeeds(table_.Map(kAlice, 1, Frame(9), true)));
  EXPECT_EQ(table_.Find(kAlice, 1), PageEntry(Frame(9), true));
  EXPECT_EQ(table_.mapped_count(), 1u);
  EXPECT_TRUE(Succeeds(table_.Map(kBob, 7, Frame(0), true)));  // the old frame is free
}

TEST_F(InvertedPageTableTest, ARefusedMoveLeavesThePageWhereItWas) {
  ASSERT_TRUE(Succeeds(table_.Map(kAlice, 1, Frame(0), true)));
  ASSERT_TRUE(Succeeds(table_.Map(kBob, 1, Frame(1), true)));
  EXPECT_TRUE(FailsWith(table_.Map(kAlice, 1, Frame(1), true), MemoryError::kOverlap));
  EXPECT_EQ(table_.Find(kAlice, 1).address(), Frame(0));
}

TEST_F(InvertedPageTableTest, RefusesFramesThatItDoesNotHave) {
  const auto map = [&](uint64_t where) {
    return table_.Map(kAlice, 1, PhysicalAddress(where), true);
  };
  EXPECT_TRUE(FailsWith(map(kBase + 1), MemoryError::kMisaligned));
  EXPECT_TRUE(FailsWith(map(kBase - kPage), MemoryError::kOutOfRange));
  EXPECT_TRUE(FailsWith(map(kBase + kFrames * kPage), MemoryError::kOutOfRange));
  EXPECT_TRUE(FailsWith(map(kMax - kPage + 1), MemoryError::kOutOfRange));
  EXPECT_TRUE(FailsWith(table_.Unmap(kAlice, 1), MemoryError::kNotMapped));
  EXPECT_EQ(table_.mapped_count(), 0u);
}

TEST_F(InvertedPageTableTest, InvalidationTakesFramesThatAByteTouches) {
  for (uint64_t i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(Succeeds(table_.Map(kAlice, i, Frame(i), true)));
  }
  EXPECT_EQ(table_.Invalidate(PhysicalAddress(0), PhysicalAddress(kBase - 1)), 0u);
  EXPECT_EQ(table_.Invalidate(PhysicalAddress(kBase + kFrames * kPage), PhysicalAddress(kMax)), 0u);
  EXPECT_EQ(
      table_.Invalidate(PhysicalAddress(kBase + 2 * kPage - 1), PhysicalAddress(kBase + 2 * kPage)),
      2u);
  EXPECT_FALSE(table_.Find(kAlice, 1).present());
  EXPECT_FALSE(table_.Find(kAlice, 2).present());
  EXPECT_EQ(table_.Invalidate(PhysicalAddress(0), PhysicalAddress(kMax)), kFrames - 2u);
}

TEST_F(InvertedPageTableTest, WithoutFramesNothingCanBeMapped) {
  InvertedPageTable empty(PhysicalAddress(0), 0);
  EXPECT_TRUE(FailsWith(empty.Map(kAlice, 0, PhysicalAddress(0), true), MemoryError::kOutOfRange));
  EXPECT_FALSE(empty.Find(kAlice, 0).present());
  EXPECT_EQ(empty.Invalidate(PhysicalAddress(0), PhysicalAddress(kMax)), 0u);
  EXPECT_TRUE(empty.IsConsistent());
}

TEST_F(InvertedPageTableTest, AgreesWithAMapAfterEveryHistory) {
  Random random(17);
  std::map<std::pair<ConsumerId, uint64_t>, PageEntry> model;
  const auto holder = [&](PhysicalAddress frame) {
    return std::ranges::find_if(model, [&](const auto& m) { return m.second.address() == frame; });
  };
  for (int step = 0; step < 5000; ++step) {
    const ConsumerId owner(static_cast<uint32_t>(random.Between(1, 3)));
    const uint64_t page = random.Below(8) << (random.Below(2) * 32);
    const uint64_t choice = random.Below(100);
    if (choice < 60) {
      const PhysicalAddress frame = Frame(random.Below(kFrames));
      const bool writable = random.Chance(1, 2);
      const auto taken = holder(frame);
      const bool ok = taken == model.end() || taken->first == std::pair(owner, page);
      ASSERT_EQ(table_.Map(owner, page, frame, writable).has_value(), ok);
      if (ok) model[{owner, page}] = PageEntry(frame, writable);
    } else if (choice < 90) {
      ASSERT_EQ(table_.Unmap(owner, page).has_value(), model.erase({owner, page}) > 0);
    } else if (choice < 97) {
      const uint64_t first = kBase + random.Below(kFrames * kPage);
      const uint64_t last = first + random.Below(3 * kPage);
      const uint64_t gone = std::erase_if(model, [&](const auto& m) {
        const uint64_t at = m.second.address().value();
        return at <= last && at + kPage - 1 >= first;
      });
      ASSERT_EQ(table_.Invalidate(PhysicalAddress(first), PhysicalAddress(last)), gone);
    } else {
      table_.RemoveOwner(owner);
      std::erase_if(model, [&](const auto& m) { return m.first.first == owner; });
    }
    const auto expected = model.find({owner, page});
    ASSERT_EQ(table_.Find(owner, page), expected == model.end() ? PageEntry() : expected->second);
    ASSERT_EQ(table_.mapped_count(), model.size());
    ASSERT_TRUE(table_.IsConsistent());
  }
}

}  // namespace
}  // namespace verbena::memory
