#include "memory/spaces/guest_table.h"

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

class GuestTableTest : public testing::Test {
 protected:
  ~GuestTableTest() override {
    EXPECT_TRUE(guests_.IsConsistent());
    EXPECT_TRUE(store_.IsConsistent());
  }
  MemoryResult<void> Map(GuestKey guest, uint64_t from, uint64_t count, uint64_t to) {
    return guests_.Map(guest, PhysicalAddress(from), count, MachineAddress(to), true);
  }

  TranslationStore store_{3};
  GuestTable guests_{store_, 2};
};

TEST_F(GuestTableTest, AGuestHasATableOfItsMemory) {
  const auto guest = guests_.Create({.memory_bytes = 16 * kPage, .attributes = 42});
  ASSERT_TRUE(Succeeds(guest));
  ASSERT_TRUE(Succeeds(Map(*guest, 2 * kPage, 3, 0x70000)));
  const GuestTable::Guest* found = guests_.Find(*guest);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->attributes, 42u);
  EXPECT_EQ(found->pages->page_count(), 16u);
  EXPECT_EQ(found->pages->Find(4), PageEntry(PhysicalAddress(0x72000), true));
  EXPECT_FALSE(found->pages->Find(5).present());
  ASSERT_TRUE(Succeeds(guests_.Unmap(*guest, PhysicalAddress(4 * kPage), 1)));
  EXPECT_FALSE(found->pages->Find(4).present());
}

TEST_F(GuestTableTest, ContiguousMemoryIsMappedInPlace) {
  const GuestKey guest =
      *guests_.Create({.memory_bytes = 4 * kPage, .base = MachineAddress(0x70000)});
  const TranslationTable& pages = *guests_.Find(guest)->pages;
  ASSERT_TRUE(Succeeds(guests_.MapInPlace(guest, PhysicalAddress(kPage), 2, false)));
  EXPECT_EQ(pages.Find(1), PageEntry(PhysicalAddress(0x71000), false));
  EXPECT_FALSE(pages.Find(3).present());
  EXPECT_TRUE(FailsWith(Map(guest, 0, 1, 0x90000), MemoryError::kOutOfRange)) << "only there";
  EXPECT_EQ(store_.Invalidate(kMachineSpace, PhysicalAddress(0x71000), PhysicalAddress(0x71fff)),
            1u);
  EXPECT_FALSE(pages.Find(1).present());
  EXPECT_TRUE(pages.Find(2).present());
}

// Of two requests for a page, the one for reading may be answered last.
TEST_F(GuestTableTest, APageThatIsWritableStaysSo) {
  const GuestKey guest = *guests_.Create({.memory_bytes = 4 * kPage, .base = MachineAddress(0)});
  ASSERT_TRUE(Succeeds(guests_.MapInPlace(guest, PhysicalAddress(kPage), 1, true)));
  ASSERT_TRUE(Succeeds(guests_.MapInPlace(guest, PhysicalAddress(0), 4, false)));
  const TranslationTable& pages = *guests_.Find(guest)->pages;
  EXPECT_FALSE(pages.Find(0).writable());
  EXPECT_TRUE(pages.Find(1).writable());
  EXPECT_FALSE(pages.Find(2).writable());
}

TEST_F(GuestTableTest, MapInPlaceRefusesPagesOfOtherGuestsAndChangesNothing) {
  const GuestKey guest = *guests_.Create({.memory_bytes = 2 * kPage, .base = MachineAddress(0)});
  for (const bool writable : {false, true}) {
    EXPECT_TRUE(FailsWith(guests_.MapInPlace(guest, PhysicalAddress(kPage), 2, writable),
                          MemoryError::kOutOfRange));
    EXPECT_TRUE(FailsWith(guests_.MapInPlace(guest, PhysicalAddress(4), 1, writable),
                          MemoryError::kMisaligned));
  }
  EXPECT_FALSE(guests_.Find(guest)->pages->Find(1).present());
  EXPECT_TRUE(FailsWith(guests_.Create({.memory_bytes = kPage, .base = MachineAddress(12)}),
                        MemoryError::kMisaligned));
  const GuestKey elsewhere = *guests_.Create({.memory_bytes = kPage});
  EXPECT_TRUE(FailsWith(guests_.MapInPlace(elsewhere, PhysicalAddress(0), 1, true),
                        MemoryError::kWrongType));
}

TEST_F(GuestTableTest, TheHostIsNoGuest) {
  EXPECT_EQ(guests_.Find(kHost), nullptr);
  EXPECT_EQ(GuestTable::NumberOf(kHost), GuestNumber(0));
  EXPECT_EQ(GuestTable::SpaceOf(kHost), kMachineSpace);
  EXPECT_TRUE(FailsWith(Map(kHost, 0, 1, 0), MemoryError::kNoSuchGuest));
}

TEST_F(GuestTableTest, GuestsHaveNumbersFromOneAndSpacesOfTheirOwn) {
  const GuestKey one = *guests_.Create({.memory_bytes = kPage});
  const GuestKey two = *guests_.Create({.memory_bytes = kPage});
  EXPECT_EQ(GuestTable::NumberOf(one), GuestNumber(1));
  EXPECT_EQ(GuestTable::NumberOf(two), GuestNumber(2));
  EXPECT_NE(GuestTable::SpaceOf(one), GuestTable::SpaceOf(two));
  EXPECT_NE(GuestTable::SpaceOf(one), kMachineSpace);
}

TEST_F(GuestTableTest, RefusesMemoryThatIsNoWholePages) {
  EXPECT_TRUE(FailsWith(guests_.Create({.memory_bytes = kPage + 1}), MemoryError::kMisaligned));
  EXPECT_TRUE(FailsWith(guests_.Create({.memory_bytes = 0}), MemoryError::kOutOfRange));
  EXPECT_TRUE(
      FailsWith(guests_.Create({.memory_bytes = uint64_t{1} << 49}), MemoryError::kTooLarge));
  EXPECT_EQ(store_.table_count(), 0u);
}

TEST_F(GuestTableTest, BothLimitsHoldAndNothingLeaks) {
  ASSERT_TRUE(Succeeds(guests_.Create({.memory_bytes = kPage})));
  ASSERT_TRUE(Succeeds(guests_.Create({.memory_bytes = kPage})));
  EXPECT_TRUE(FailsWith(guests_.Create({.memory_bytes = kPage}), MemoryError::kLimitReached));
  EXPECT_EQ(store_.table_count(), 2u);
  TranslationStore full(0);
  GuestTable none(full, 1);
  EXPECT_TRUE(FailsWith(none.Create({.memory_bytes = kPage}), MemoryError::kLimitReached));
  EXPECT_EQ(none.size(), 0u);
}

TEST_F(GuestTableTest, MapRefusesPagesOfOtherGuests) {
  const GuestKey guest = *guests_.Create({.memory_bytes = 2 * kPage});
  EXPECT_TRUE(FailsWith(Map(guest, 1, 1, 0), MemoryError::kMisaligned));
  EXPECT_TRUE(FailsWith(Map(guest, 0, 1, 1), MemoryError::kMisaligned));
  EXPECT_TRUE(FailsWith(Map(guest, kPage, 2, 0), MemoryError::kOutOfRange));
  EXPECT_TRUE(FailsWith(guests_.Unmap(guest, PhysicalAddress(1), 1), MemoryError::kMisaligned));
  EXPECT_TRUE(
      FailsWith(guests_.Unmap(guest, PhysicalAddress(2 * kPage), 1), MemoryError::kOutOfRange));
  EXPECT_TRUE(
      FailsWith(guests_.Unmap(GuestKey(999), PhysicalAddress(0), 1), MemoryError::kNoSuchGuest));
  EXPECT_EQ(store_.reverse_record_count(), 0u);
}

TEST_F(GuestTableTest, ADestroyedGuestGivesItsTableBack) {
  const GuestKey guest = *guests_.Create({.memory_bytes = kPage});
  ASSERT_TRUE(Succeeds(Map(guest, 0, 1, 0x7000)));
  EXPECT_TRUE(Succeeds(guests_.Destroy(guest)));
  EXPECT_EQ(store_.table_count(), 0u);
  EXPECT_EQ(store_.reverse_record_count(), 0u);
}

TEST_F(GuestTableTest, TheKeyOfADestroyedGuestNeverFindsItsSuccessor) {
  const GuestKey first = *guests_.Create({.memory_bytes = kPage});
  ASSERT_TRUE(Succeeds(guests_.Destroy(first)));
  const GuestKey second = *guests_.Create({.memory_bytes = kPage});
  EXPECT_EQ(GuestTable::NumberOf(first), GuestTable::NumberOf(second));
  EXPECT_EQ(guests_.Find(first), nullptr);
  EXPECT_NE(GuestTable::SpaceOf(first), GuestTable::SpaceOf(second));
  EXPECT_TRUE(FailsWith(guests_.Destroy(first), MemoryError::kNoSuchGuest));
}

}  // namespace
}  // namespace verbena::memory
