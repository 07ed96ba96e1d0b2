#include "memory/translation/translation_store.h"

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr PhysicalSpace kGuest{5};
constexpr uint64_t kFanout = TranslationTable::kFanout;
constexpr uint64_t kTiB = uint64_t{1} << 40;

class TranslationStoreTest : public testing::Test {
 protected:
  ~TranslationStoreTest() override { EXPECT_TRUE(store_.IsConsistent()); }

  TranslationTable& Scattered(uint64_t pages, PageShift shift = kSmall,
                              PhysicalSpace space = kMachineSpace) {
    return **store_.Create(pages, shift, space, std::nullopt);
  }
  TranslationTable& Linear(uint64_t base, uint64_t pages, PageShift shift = kSmall,
                           PhysicalSpace space = kMachineSpace) {
    return **store_.Create(pages, shift, space, PhysicalAddress(base));
  }
  MemoryResult<void> Map(TranslationTable& table, uint64_t page, uint64_t count, uint64_t where,
                         bool writable = true) {
    return store_.Map(table, page, count, PhysicalAddress(where), writable);
  }
  uint64_t Invalidate(uint64_t first, uint64_t last, PhysicalSpace space = kMachineSpace) {
    return store_.Invalidate(space, PhysicalAddress(first), PhysicalAddress(last));
  }
  static uint64_t PresentPages(const TranslationTable& table) {
    uint64_t present = 0;
    for (uint64_t i = 0; i < table.page_count(); ++i) present += table.Find(i).present() ? 1 : 0;
    return present;
  }

  TranslationStore store_{100};
};

TEST_F(TranslationStoreTest, CreateRefusesInvalidSizes) {
  const auto create = [&](uint64_t pages, std::optional<PhysicalAddress> base,
                          PageShift shift = kSmall) {
    return store_.Create(pages, shift, kMachineSpace, base);
  };
  EXPECT_TRUE(FailsWith(create(0, std::nullopt), MemoryError::kOutOfRange));
  EXPECT_TRUE(
      FailsWith(create(TranslationTable::kPagesMax + 1, std::nullopt), MemoryError::kTooLarge));
  EXPECT_TRUE(FailsWith(create(1, PhysicalAddress(1)), MemoryError::kMisaligned));
  EXPECT_TRUE(FailsWith(create(1, PhysicalAddress(kPage), kLarge), MemoryError::kMisaligned));
  EXPECT_TRUE(FailsWith(create(2, PhysicalAddress(kMax - kPage + 1)), MemoryError::kWraps));
  EXPECT_EQ(store_.table_count(), 0u);
}

TEST_F(TranslationStoreTest, ALinearTableMayEndAt2To64) {
  EXPECT_TRUE(Succeeds(store_.Create(1, kSmall, kMachineSpace, PhysicalAddress(kMax - kPage + 1))));
  EXPECT_TRUE(Succeeds(
      store_.Create(TranslationTable::kPagesMax, kLargest, kMachineSpace, PhysicalAddress(0))));
}

TEST_F(TranslationStoreTest, TheNumberOfTablesIsLimited) {
  TranslationStore two(2);
  const auto one = two.Create(1, kSmall, kMachineSpace, std::nullopt);
  ASSERT_TRUE(Succeeds(two.Create(1, kSmall, kMachineSpace, std::nullopt)));
  EXPECT_TRUE(
      FailsWith(two.Create(1, kSmall, kMachineSpace, std::nullopt), MemoryError::kLimitReached));
  two.Release(*one);
  EXPECT_TRUE(Succeeds(two.Create(1, kSmall, kMachineSpace, std::nullopt)));
}

TEST_F(TranslationStoreTest, MapRefusesPagesOutsideAndChangesNothing) {
  TranslationTable& table = Scattered(10);
  EXPECT_TRUE(FailsWith(Map(table, 10, 1, 0), MemoryError::kOutOfRange));
  EXPECT_TRUE(FailsWith(Map(table, 0, 11, 0), MemoryError::kOutOfRange));
  EXPECT_TRUE(FailsWith(Map(table, 2, kMax, 0), MemoryError::kOutOfRange));
  EXPECT_TRUE(FailsWith(Map(table, 0, 1, 0x10), MemoryError::kMisaligned));
  EXPECT_TRUE(FailsWith(Map(table, 0, 2, kMax - kPage + 1), MemoryError::kWraps));
  EXPECT_TRUE(FailsWith(store_.MapLinear(table, 0, 1, true), MemoryError::kWrongType));
  EXPECT_TRUE(FailsWith(store_.Unmap(table, 5, 6), MemoryError::kOutOfRange));
  EXPECT_TRUE(Succeeds(Map(table, 10, 0, 0)));
  EXPECT_TRUE(Succeeds(store_.Unmap(table, 10, 0)));
  EXPECT_EQ(PresentPages(table), 0u);
  EXPECT_EQ(store_.reverse_record_count(), 0u);
}

TEST_F(TranslationStoreTest, ALinearTableTakesItsOwnAddressesOnly) {
  TranslationTable& table = Linear(0x100000, 10);
  EXPECT_TRUE(FailsWith(Map(table, 1, 1, 0x100000), MemoryError::kOutOfRange));
  EXPECT_TRUE(FailsWith(store_.MapLinear(table, 9, 2, true), MemoryError::kOutOfRange));
  EXPECT_TRUE(Succeeds(Map(table, 1, 2, 0x101000)));
  EXPECT_TRUE(Succeeds(store_.MapLinear(table, 9, 1, false)));
  EXPECT_EQ(table.Find(2), PageEntry(PhysicalAddress(0x102000), true));
  EXPECT_EQ(table.Find(9), PageEntry(PhysicalAddress(0x109000), false));
  EXPECT_EQ(PresentPages(table), 3u);
}

TEST_F(TranslationStoreTest, ARunOfPagesMayCrossLeaves) {
  TranslationTable& table = Scattered(3 * kFanout);
  ASSERT_TRUE(Succeeds(Map(table, kFanout - 1, kFanout + 2, 0x40000000)));
  for (uint64_t i = 0; i < kFanout + 2; ++i) {
    EXPECT_EQ(table.Find(kFanout - 1 + i).address(), PhysicalAddress(0x40000000 + i * kPage));
  }
  EXPECT_EQ(PresentPages(table), kFanout + 2);
  ASSERT_TRUE(Succeeds(store_.Unmap(table, kFanout, kFanout)));
  EXPECT_EQ(PresentPages(table), 2u);
  EXPECT_EQ(store_.reverse_record_count(), 2u);
}

TEST_F(TranslationStoreTest, ARemappedPageIsNotFoundAtItsOldAddress) {
  TranslationTable& table = Scattered(4);
  ASSERT_TRUE(Succeeds(Map(table, 0, 1, 0x5000)));
  ASSERT_TRUE(Succeeds(Map(table, 0, 1, 0x9000)));
  EXPECT_EQ(Invalidate(0x5000, 0x5fff), 0u);
  EXPECT_TRUE(table.Find(0).present());
  EXPECT_EQ(Invalidate(0x9000, 0x9fff), 1u);
  EXPECT_FALSE(table.Find(0).present());
}

TEST_F(TranslationStoreTest, InvalidateReachesEveryPageThatOverlaps) {
  TranslationTable& linear = Linear(0x10000, 16);
  TranslationTable& scattered = Scattered(16);
  ASSERT_TRUE(Succeeds(store_.MapLinear(linear, 0, 16, true)));
  ASSERT_TRUE(Succeeds(Map(scattered, 0, 16, 0x10000)));
  EXPECT_EQ(Invalidate(0x12fff, 0x13000), 4u);
  for (const TranslationTable* table : {&linear, &scattered}) {
    EXPECT_TRUE(table->Find(1).present());
    EXPECT_FALSE(table->Find(2).present());
    EXPECT_FALSE(table->Find(3).present());
    EXPECT_TRUE(table->Find(4).present());
  }
  EXPECT_EQ(Invalidate(0x12fff, 0x13000), 0u);  // already absent
  EXPECT_EQ(Invalidate(0, kMax), 28u);
}

// Invalidation allocates nothing, and so processes a limited number of pages at a time.
TEST_F(TranslationStoreTest, InvalidateReachesAnyNumberOfListedPages) {
  constexpr uint64_t kPages = 300, kKept = 10;
  TranslationTable& table = Scattered(kPages);
  TranslationTable& linear = Linear(0x100000, kPages);
  ASSERT_TRUE(Map(table, 0, kPages, 0x100000));
  ASSERT_TRUE(Map(linear, 0, kPages, 0x100000));
  const uint64_t gone = kPages - kKept;
  EXPECT_EQ(Invalidate(0x100000, 0x100000 + gone * 4096 - 1), 2 * gone);
  EXPECT_EQ(PresentPages(table), kKept);
  EXPECT_EQ(PresentPages(linear), kKept);
  EXPECT_EQ(Invalidate(0x100000, 0x100000 + gone * 4096 - 1), 0U);
}

TEST_F(TranslationStoreTest, InvalidatingAByteInvalidatesItsLargePage) {
  TranslationTable& large = Linear(0, 4, kLarge);
  ASSERT_TRUE(Succeeds(store_.MapLinear(large, 0, 4, true)));
  EXPECT_EQ(Invalidate(kLarge.bytes() + 5, kLarge.bytes() + 5), 1u);
  EXPECT_FALSE(large.Find(1).present());
  EXPECT_EQ(PresentPages(large), 3u);
}

TEST_F(TranslationStoreTest, InvalidationStaysInItsSpace) {
  TranslationTable& machine = Linear(0, 4);
  TranslationTable& guest = Linear(0, 4, kSmall, kGuest);
  ASSERT_TRUE(Succeeds(store_.MapLinear(machine, 0, 4, true)));
  ASSERT_TRUE(Succeeds(store_.MapLinear(guest, 0, 4, true)));
  EXPECT_EQ(Invalidate(0, kMax, kGuest), 4u);
  EXPECT_EQ(PresentPages(machine), 4u);
  EXPECT_EQ(PresentPages(guest), 0u);
}

TEST_F(TranslationStoreTest, TheLastPageOf2To64CanBeInvalidated) {
  TranslationTable& linear = Linear(kMax - kPage + 1, 1);
  TranslationTable& scattered = Scattered(1);
  ASSERT_TRUE(Succeeds(store_.MapLinear(linear, 0, 1, true)));
  ASSERT_TRUE(Succeeds(Map(scattered, 0, 1, kMax - kPage + 1)));
  EXPECT_EQ(Invalidate(kMax, kMax), 2u);
}

TEST_F(TranslationStoreTest, ASharedTableLivesUntilItsLastUserLeaves) {
  TranslationTable& table = Scattered(4);
  ASSERT_TRUE(Succeeds(Map(table, 0, 4, 0x8000)));
  store_.Share(table);
  store_.Release(&table);
  EXPECT_EQ(store_.table_count(), 1u);
  EXPECT_EQ(PresentPages(table), 4u);
  store_.Release(&table);
  EXPECT_EQ(store_.table_count(), 0u);
  EXPECT_EQ(store_.reverse_record_count(), 0u);
  EXPECT_EQ(Invalidate(0x8000, 0x8fff), 0u);
}

TEST_F(TranslationStoreTest, AFreedTableLeavesNoReverseRecord) {
  for (const uint64_t pages : {uint64_t{3}, 2 * kFanout + 1}) {
    TranslationTable& linear = Linear(0x7000, pages);
    ASSERT_TRUE(Succeeds(store_.MapLinear(linear, 0, pages, true)));
    store_.Release(&linear);
    EXPECT_EQ(store_.reverse_record_count(), 0u);
  }
}

TEST_F(TranslationStoreTest, AnUntouchedTebibyteCostsLessThan64KiB) {
  TranslationTable& table = Linear(0, kTiB / kPage);
  EXPECT_LT(store_.BytesOf(table) + store_.reverse_map_bytes() + store_.table_object_bytes(),
            64u * 1024);
  ASSERT_TRUE(Succeeds(store_.MapLinear(table, kTiB / kPage / 2, 1, true)));
  EXPECT_LT(store_.BytesOf(table) + store_.reverse_map_bytes() + store_.table_object_bytes(),
            64u * 1024);
}

// The bound: 8 bytes for each page, 8 for each leaf of 512 pages, rounded up to 512 leaves, and 8
// for each 512 leaves. The reverse map adds one or two records for each leaf of a linear table.
TEST_F(TranslationStoreTest, AFullTableCosts8BytesAPageAndItsDirectories) {
  const auto up = [](uint64_t n) { return (n + kFanout - 1) / kFanout; };
  for (const uint64_t pages :
       {uint64_t{100}, kFanout + 1, kFanout * kFanout, kFanout * kFanout + 1}) {
    TranslationTable& table = Linear(0x7000, pages);
    ASSERT_TRUE(Succeeds(store_.MapLinear(table, 0, pages, true)));
    const uint64_t leaves = up(pages), middles = up(leaves);
    const uint64_t directory_bytes = (middles * kFanout + middles) * 8;
    EXPECT_LE(store_.BytesOf(table), sizeof(table) + 8 * pages + directory_bytes) << pages;
    EXPECT_LE(store_.reverse_record_count(), 2 * leaves);
    store_.Release(&table);
  }
}

TEST_F(TranslationStoreTest, ForbiddenMemoryCannotBeListed) {
  const auto may_list = [this](uint64_t page, PageShift shift = kSmall,
                               PhysicalSpace space = kMachineSpace) {
    return store_.MayList(space, PhysicalAddress(page), shift);
  };
  const PhysicalAddress first(0x10'0000), last(0x10'2FFF);
  store_.ForbidInLists(first, last);
  EXPECT_TRUE(may_list(0x0F'F000));
  EXPECT_FALSE(may_list(0x10'0000));
  EXPECT_FALSE(may_list(0x10'2000));
  EXPECT_TRUE(may_list(0x10'3000));
  EXPECT_FALSE(may_list(0, kLarge)) << "the large page contains it";
  EXPECT_TRUE(may_list(0x10'0000, kSmall, kGuest)) << "addresses of a guest are another space";
  store_.AllowInLists(first, last);
  EXPECT_TRUE(may_list(0x10'0000));
}

}  // namespace
}  // namespace verbena::memory
