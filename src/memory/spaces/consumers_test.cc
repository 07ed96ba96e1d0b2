#include "memory/spaces/consumers.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

class ConsumersTest : public testing::Test {
 protected:
  ~ConsumersTest() override {
    EXPECT_TRUE(consumers_.IsConsistent());
    EXPECT_TRUE(store_.IsConsistent());
  }
  MemoryResult<void> MapPage(ConsumerId id, uint64_t page, uint64_t where) {
    return consumers_.MapLocalPage(id, VirtualAddress(page), PhysicalAddress(where), true);
  }

  TranslationStore store_{2};
  Consumers consumers_{store_, 3};
};

TEST_F(ConsumersTest, WithoutSegmentsAllMemoryIsTheConsumers) {
  const ConsumerId id = *consumers_.Open({});
  const Consumer* consumer = consumers_.Find(id);
  EXPECT_TRUE(consumer->MayAccess(EffectiveAddress(0), kMax, kLocal));
  EXPECT_TRUE(consumer->MayUsePhysical());
  EXPECT_FALSE(consumer->pages.has_value());
}

TEST_F(ConsumersTest, WithSegmentsOnlyTheyGrantAccess) {
  const ConsumerId id = *consumers_.Open({.has_segments = true});
  const Consumer* consumer = consumers_.Find(id);
  EXPECT_FALSE(consumer->MayAccess(EffectiveAddress(0), 1, Access::kNone));
  EXPECT_FALSE(consumer->MayUsePhysical());
  ASSERT_TRUE(Succeeds(consumers_.SegmentTableUpdate(
      id, SegmentChange::kAdd,
      {EffectiveAddress(0x1000), kPage, VirtualAddress(0), Access::kLocalRead})));
  EXPECT_TRUE(consumer->MayAccess(EffectiveAddress(0x1000), kPage, Access::kLocalRead));
  EXPECT_FALSE(consumer->MayAccess(EffectiveAddress(0x1000), kPage, kLocal));
}

TEST_F(ConsumersTest, PrivilegeAllowsPhysicalAddressesInSpiteOfSegments) {
  const ConsumerId id = *consumers_.Open({.privileged = true, .has_segments = true});
  EXPECT_TRUE(consumers_.Find(id)->MayUsePhysical());
}

TEST_F(ConsumersTest, MapLocalPageFillsAPrivateTable) {
  const ConsumerId id = *consumers_.Open({.table = ConsumerSpec::PrivateTable{}});
  ASSERT_TRUE(Succeeds(MapPage(id, 0x7000, 0x3000)));
  EXPECT_EQ(consumers_.Find(id)->pages->Find(VirtualAddress(0x7abc)),
            PageEntry(PhysicalAddress(0x3000), true));
  ASSERT_TRUE(Succeeds(consumers_.UnmapLocalPage(id, VirtualAddress(0x7000))));
  EXPECT_TRUE(
      FailsWith(consumers_.UnmapLocalPage(id, VirtualAddress(0x7000)), MemoryError::kNotMapped));
}

TEST_F(ConsumersTest, AnIdentityTableTakesPagesAtTheirOwnAddressOnly) {
  const ConsumerId id = *consumers_.Open({.table = ConsumerSpec::PrivateTable{.identity = true}});
  EXPECT_TRUE(FailsWith(MapPage(id, 0x7000, 0x3000), MemoryError::kOutOfRange));
  EXPECT_TRUE(Succeeds(MapPage(id, 0x7000, 0x7000)));
}

TEST_F(ConsumersTest, ASharedTableIsReadWhereItLies) {
  std::array<std::atomic<uint64_t>, 4> entries{};
  const ConsumerId id = *consumers_.Open({.table = ConsumerSpec::SharedTable{entries}});
  entries[2] = PageEntry(PhysicalAddress(0x9000), false).bits();
  EXPECT_EQ(consumers_.Find(id)->pages->Find(VirtualAddress(2 * kPage)).address(),
            PhysicalAddress(0x9000));
  EXPECT_TRUE(FailsWith(MapPage(id, 0, 0), MemoryError::kOwnedByTheSystem));
}

TEST_F(ConsumersTest, ConsumersOfAnInvertedTableShareItsFrames) {
  InvertedPageTable inverted(PhysicalAddress(0), 4);
  const ConsumerId one = *consumers_.Open({.table = &inverted});
  const ConsumerId two = *consumers_.Open({.table = &inverted});
  ASSERT_TRUE(Succeeds(MapPage(one, 0x5000, 0x1000)));
  EXPECT_TRUE(FailsWith(MapPage(two, 0x5000, 0x1000), MemoryError::kOverlap));
  EXPECT_FALSE(consumers_.Find(two)->pages->Find(VirtualAddress(0x5000)).present());
  ASSERT_TRUE(Succeeds(consumers_.Close(one)));
  EXPECT_EQ(inverted.mapped_count(), 0u);
  EXPECT_TRUE(Succeeds(MapPage(two, 0x5000, 0x1000)));
}

TEST_F(ConsumersTest, OpenFailsAndLeavesNothingBehind) {
  EXPECT_TRUE(FailsWith(consumers_.Open({.table = static_cast<InvertedPageTable*>(nullptr)}),
                        MemoryError::kNotMapped));
  const ConsumerSpec with_table{.table = ConsumerSpec::PrivateTable{}};
  ASSERT_TRUE(Succeeds(consumers_.Open(with_table)));
  ASSERT_TRUE(Succeeds(consumers_.Open(with_table)));
  EXPECT_TRUE(FailsWith(consumers_.Open(with_table), MemoryError::kLimitReached));  // of tables
  ASSERT_TRUE(Succeeds(consumers_.Open({})));
  EXPECT_TRUE(FailsWith(consumers_.Open({}), MemoryError::kLimitReached));
  EXPECT_EQ(consumers_.size(), 3u);
}

TEST_F(ConsumersTest, CloseGivesEverythingBack) {
  const ConsumerId id = *consumers_.Open({.table = ConsumerSpec::PrivateTable{}});
  ASSERT_TRUE(Succeeds(MapPage(id, 0, 0)));
  ASSERT_TRUE(Succeeds(consumers_.Close(id)));
  EXPECT_EQ(store_.table_count(), 0u);
  EXPECT_EQ(store_.reverse_record_count(), 0u);
}

TEST_F(ConsumersTest, AConsumerWithDomainsIsNotClosed) {
  const ConsumerId id = *consumers_.Open({});
  consumers_.Find(id)->users = 1;
  EXPECT_TRUE(FailsWith(consumers_.Close(id), MemoryError::kInUse));
  consumers_.Find(id)->users = 0;
  EXPECT_TRUE(Succeeds(consumers_.Close(id)));
}

TEST_F(ConsumersTest, VerbsRefuseClosedConsumersAndThoseWithoutTheTable) {
  const ConsumerId flat = *consumers_.Open({});
  const Segment segment{EffectiveAddress(0), 1, VirtualAddress(0), kLocal};
  EXPECT_TRUE(FailsWith(consumers_.SegmentTableUpdate(flat, SegmentChange::kAdd, segment),
                        MemoryError::kWrongType));
  EXPECT_TRUE(FailsWith(MapPage(flat, 0, 0), MemoryError::kWrongType));
  EXPECT_TRUE(
      FailsWith(consumers_.UnmapLocalPage(flat, VirtualAddress(0)), MemoryError::kWrongType));
  ASSERT_TRUE(Succeeds(consumers_.Close(flat)));
  EXPECT_EQ(consumers_.Find(flat), nullptr);
  EXPECT_TRUE(FailsWith(consumers_.Close(flat), MemoryError::kNoSuchConsumer));
  EXPECT_TRUE(FailsWith(consumers_.SegmentTableUpdate(flat, SegmentChange::kAdd, segment),
                        MemoryError::kNoSuchConsumer));
  EXPECT_TRUE(FailsWith(MapPage(flat, 0, 0), MemoryError::kNoSuchConsumer));
  EXPECT_TRUE(
      FailsWith(consumers_.UnmapLocalPage(flat, VirtualAddress(0)), MemoryError::kNoSuchConsumer));
}

}  // namespace
}  // namespace verbena::memory
