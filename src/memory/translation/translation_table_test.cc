#include "memory/translation/translation_table.h"

#include <gtest/gtest.h>

#include "memory/translation/translation_store.h"

namespace verbena::memory {
namespace {

using Levels = TranslationTable::Levels;

constexpr PageShift kSmall{12};
constexpr uint64_t kFanout = TranslationTable::kFanout;

TEST(PageEntryTest, AnAbsentPageAllowsNothing) {
  const PageEntry entry;
  EXPECT_FALSE(entry.present());
  EXPECT_FALSE(entry.Allows(false));
  EXPECT_FALSE(entry.Allows(true));
  EXPECT_EQ(entry.bits(), 0u);
}

TEST(PageEntryTest, AReadOnlyPageAllowsReadingOnly) {
  const PageEntry entry(PhysicalAddress(0x5000), false);
  EXPECT_TRUE(entry.present());
  EXPECT_TRUE(entry.Allows(false));
  EXPECT_FALSE(entry.Allows(true));
}

TEST(PageEntryTest, KeepsEveryAddressBit) {
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x1000}, ~uint64_t{0xfff}}) {
    const PageEntry entry(PhysicalAddress(address), true);
    EXPECT_EQ(entry.address(), PhysicalAddress(address));
    EXPECT_TRUE(entry.Allows(true));
    EXPECT_EQ(PageEntry::FromBits(entry.bits()), entry);
  }
}

TEST(TranslationTableTest, TheNumberOfPagesChoosesTheLevels) {
  const auto levels = [](uint64_t pages) {
    return TranslationTable(pages, kSmall, kMachineSpace, std::nullopt).levels();
  };
  EXPECT_EQ(levels(1), Levels::kDirect);
  EXPECT_EQ(levels(512), Levels::kDirect);
  EXPECT_EQ(levels(513), Levels::kOneIndirect);
  EXPECT_EQ(levels(512 * 512), Levels::kOneIndirect);
  EXPECT_EQ(levels(512 * 512 + 1), Levels::kTwoIndirect);
  EXPECT_EQ(levels(uint64_t{1} << 36), Levels::kTwoIndirect);
}

TEST(TranslationTableTest, LeavesCoverThePagesExactly) {
  for (const uint64_t pages : {uint64_t{1}, kFanout, kFanout + 1, kFanout * kFanout + 7}) {
    const TranslationTable table(pages, kSmall, kMachineSpace, std::nullopt);
    uint64_t covered = 0;
    for (uint64_t leaf = 0; leaf < table.leaf_count(); ++leaf) {
      EXPECT_GT(table.LeafSize(leaf), 0u);
      EXPECT_LE(table.LeafSize(leaf), kFanout);
      covered += table.LeafSize(leaf);
    }
    EXPECT_EQ(covered, pages);
  }
}

TEST(TranslationTableTest, ALinearTableComputesTheAddressOfAPage) {
  const PageShift largest(28);
  const TranslationTable table(TranslationTable::kPagesMax, largest, kMachineSpace,
                               PhysicalAddress(0));
  EXPECT_EQ(table.LinearAddress(0), PhysicalAddress(0));
  EXPECT_EQ(table.LinearAddress(3), PhysicalAddress(3 * largest.bytes()));
  // The last page of the largest table ends at 2^64.
  EXPECT_EQ(table.LinearAddress(TranslationTable::kPagesMax - 1),
            PhysicalAddress(UINT64_MAX - largest.mask()));
}

// Two pages of a linear table are contiguous; the fast path finds both if they are in one leaf.
TEST(TranslationTableTest, BytesInASingleSpanAreFoundAcrossABorderOfPages) {
  constexpr PageShift kPage(12);
  constexpr uint64_t kLeafEnd = TranslationTable::kFanout * kPage.bytes(), kBase = 1 << 30;
  TranslationStore store(1);
  TranslationTable* const table =
      *store.Create(2 * TranslationTable::kFanout, kPage, kMachineSpace, PhysicalAddress(kBase));
  ASSERT_TRUE(store.MapLinear(*table, 0, 3, true).has_value());
  ASSERT_TRUE(store.MapLinear(*table, 2, 1, false).has_value());
  ASSERT_TRUE(store.MapLinear(*table, TranslationTable::kFanout - 1, 2, true).has_value());
  PhysicalAddress at;
  const auto found = [&](uint64_t position, uint64_t length, bool write) {
    return table->FindSingleSpan(position, length, write, at);
  };
  EXPECT_TRUE(found(100, 2 * kPage.bytes() - 100, true));
  EXPECT_EQ(at, PhysicalAddress(kBase + 100));
  EXPECT_FALSE(found(100, 2 * kPage.bytes() - 99, false)) << "three pages";
  EXPECT_TRUE(found(kPage.bytes() + 100, kPage.bytes(), false));
  EXPECT_FALSE(found(kPage.bytes() + 100, kPage.bytes(), true)) << "the second is read-only";
  EXPECT_FALSE(found(2 * kPage.bytes() + 100, kPage.bytes(), false)) << "the second is absent";
  EXPECT_TRUE(found(kLeafEnd - 100, 100, true));
  EXPECT_FALSE(found(kLeafEnd - 100, 101, true)) << "the next leaf";
  store.Release(table);
}

// Number of pages, page shift.
class TranslationTableSizes : public testing::TestWithParam<std::tuple<uint64_t, unsigned>> {
 protected:
  TranslationTableSizes() {
    const auto [pages, shift] = GetParam();
    table_ = *store_.Create(pages, PageShift(shift), kMachineSpace, std::nullopt);
  }
  ~TranslationTableSizes() override {
    store_.Release(table_);
    EXPECT_EQ(store_.reverse_record_count(), 0u);
    EXPECT_TRUE(store_.IsConsistent());
  }

  TranslationStore store_{1};
  TranslationTable* table_ = nullptr;
};

TEST_P(TranslationTableSizes, AnUntouchedTableHasNoNodes) {
  EXPECT_EQ(store_.BytesOf(*table_), sizeof(TranslationTable));
  EXPECT_FALSE(table_->Find(0).present());
  EXPECT_FALSE(table_->Find(table_->page_count() - 1).present());
  EXPECT_EQ(store_.BytesOf(*table_), sizeof(TranslationTable));  // Find allocates nothing
}

TEST_P(TranslationTableSizes, FirstAndLastPageAreFoundAndTheirNeighboursAbsent) {
  const uint64_t last = table_->page_count() - 1;
  const PhysicalAddress first_place(table_->page_shift().bytes() * 5);
  const PhysicalAddress last_place(UINT64_MAX - table_->page_shift().mask());
  ASSERT_TRUE(store_.Map(*table_, 0, 1, first_place, true).has_value());
  ASSERT_TRUE(store_.Map(*table_, last, 1, last_place, false).has_value());
  EXPECT_EQ(table_->Find(last), PageEntry(last_place, false));
  if (last > 0) {
    EXPECT_EQ(table_->Find(0), PageEntry(first_place, true));
  }
  if (last > 1) {
    EXPECT_FALSE(table_->Find(1).present());
    EXPECT_FALSE(table_->Find(last - 1).present());
  }
}

TEST_P(TranslationTableSizes, OnePageAllocatesOnlyItsPath) {
  ASSERT_TRUE(store_.Map(*table_, table_->page_count() - 1, 1, PhysicalAddress(0), true));
  const uint64_t leaves = table_->leaf_count();
  const uint64_t last_leaf = 8 * table_->LeafSize(leaves - 1);
  uint64_t expected = sizeof(TranslationTable);
  switch (table_->levels()) {
    case Levels::kDirect:
      expected += last_leaf;
      break;
    case Levels::kOneIndirect:
      expected += 8 * leaves + last_leaf;
      break;
    case Levels::kTwoIndirect:
      expected += 8 * ((leaves + kFanout - 1) / kFanout) + 8 * kFanout + last_leaf;
      break;
  }
  EXPECT_EQ(store_.BytesOf(*table_), expected);
}

INSTANTIATE_TEST_SUITE_P(All, TranslationTableSizes,
                         testing::Combine(testing::Values(uint64_t{1}, uint64_t{2}, kFanout,
                                                          kFanout + 1, kFanout* kFanout,
                                                          kFanout* kFanout + 1,
                                                          TranslationTable::kPagesMax),
                                          testing::Values(12u, 13u, 16u, 21u, 28u)));

}  // namespace
}  // namespace verbena::memory
