#include "memory/protection/protection_table.h"

#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr PdId kPd{1};

class ProtectionTableTest : public testing::Test {
 protected:
  ~ProtectionTableTest() override { EXPECT_TRUE(table_.IsConsistent()); }

  SlotNumber Take(EntryType type = EntryType::kRegion, bool distinct = false) {
    return *table_.Take(type, kPd, distinct);
  }

  ProtectionTable table_{MemoryOptions{.key_slots_max = 5}};  // four, because index 0 is not used
};

TEST_F(ProtectionTableTest, AnEntryIsReservedWhenItIsTaken) {
  const SlotNumber slot = Take(EntryType::kWindow);
  const ProtectionEntry& entry = table_.EntryAt(slot);
  EXPECT_EQ(entry.state, EntryState::kReserved);
  EXPECT_EQ(entry.type, EntryType::kWindow);
  EXPECT_EQ(entry.pd, kPd);
  EXPECT_EQ(entry.rights, Access::kNone);
  EXPECT_FALSE(entry.was_valid);
  EXPECT_EQ(table_.Find(table_.LocalKey(slot).index()), &entry);
  EXPECT_EQ(table_.SlotOf(table_.LocalKey(slot)), slot);
  EXPECT_EQ(table_.live_count(), 1u);
}

TEST_F(ProtectionTableTest, KeysAreEqualUnlessDistinctOnesAreRequested) {
  const SlotNumber same = Take();
  EXPECT_EQ(table_.LocalKey(same), table_.RemoteKey(same));
  const SlotNumber distinct = Take(EntryType::kRegion, true);
  EXPECT_NE(table_.LocalKey(distinct), table_.RemoteKey(distinct));
  EXPECT_EQ(table_.LocalKey(distinct).index(), table_.RemoteKey(distinct).index());
}

TEST_F(ProtectionTableTest, FindLiveTakesEitherKeyAndTheRightTypeOnly) {
  const SlotNumber slot = Take(EntryType::kRegion, true);
  const Key local = table_.LocalKey(slot), remote = table_.RemoteKey(slot);
  EXPECT_EQ(*table_.FindLive(local, EntryType::kRegion), &table_.EntryAt(slot));
  EXPECT_EQ(*table_.FindLive(remote, EntryType::kRegion), &table_.EntryAt(slot));
  EXPECT_TRUE(FailsWith(table_.FindLive(local, EntryType::kWindow), MemoryError::kWrongType));
  const Key other(local.index(), KeyVariant(static_cast<uint8_t>(remote.variant().value() + 1)));
  EXPECT_TRUE(FailsWith(table_.FindLive(other, EntryType::kRegion), MemoryError::kNoSuchKey));
  table_.Give(slot);
  EXPECT_TRUE(FailsWith(table_.FindLive(local, EntryType::kRegion), MemoryError::kNoSuchKey));
}

TEST_F(ProtectionTableTest, NoKeyOfAnotherTableIsFound) {
  Take();
  unsigned found = 0;
  for (uint32_t index = 0; index < kKeyIndexCount; index += 97) {
    const ProtectionEntry* entry = table_.Find(KeyIndex(index));
    found += entry != nullptr && entry->is_live() ? 1 : 0;
  }
  EXPECT_LE(found, 1u);
  EXPECT_TRUE(FailsWith(table_.FindLive(Key(), EntryType::kRegion), MemoryError::kNoSuchKey));
}

TEST_F(ProtectionTableTest, AFullTableHandsOutNoneUntilOneIsFreed) {
  std::set<SlotNumber> slots;
  for (int i = 0; i < 4; ++i) slots.insert(Take());
  EXPECT_EQ(slots.size(), 4u);
  EXPECT_EQ(table_.Take(EntryType::kRegion, kPd, false), std::nullopt);
  const Key old = table_.LocalKey(*slots.begin());
  table_.Give(*slots.begin());
  EXPECT_EQ(table_.live_count(), 3u);
  const SlotNumber again = Take();
  EXPECT_EQ(table_.LocalKey(again).index(), old.index());
  EXPECT_NE(table_.LocalKey(again), old);
}

TEST_F(ProtectionTableTest, ATableWithoutUsableSlotsFindsNothingAndTakesNothing) {
  for (const uint32_t slots : {0u, 1u}) {
    ProtectionTable none(MemoryOptions{.key_slots_max = slots});
    EXPECT_EQ(none.Take(EntryType::kRegion, kPd, false), std::nullopt);
    const ProtectionEntry* zero = none.Find(KeyIndex(0));
    EXPECT_TRUE(zero == nullptr || !zero->is_live());
    EXPECT_TRUE(none.IsConsistent());
  }
}

TEST_F(ProtectionTableTest, RenewedAndChosenVariantsMakeOldKeysStale) {
  const SlotNumber slot = Take();
  table_.EntryAt(slot).was_valid = true;
  const Key first = table_.LocalKey(slot);
  EXPECT_EQ(table_.Renew(slot, false), slot);
  EXPECT_FALSE(table_.EntryAt(slot).was_valid);
  EXPECT_NE(table_.LocalKey(slot), first);
  EXPECT_TRUE(FailsWith(table_.FindLive(first, EntryType::kRegion), MemoryError::kNoSuchKey));
  table_.UseVariant(slot, first.variant());
  EXPECT_EQ(table_.LocalKey(slot), first);
  EXPECT_EQ(table_.RemoteKey(slot), first);
}

TEST_F(ProtectionTableTest, AReservedWindowReleasesItsRegion) {
  const SlotNumber region = Take(), window = Take(EntryType::kWindow);
  table_.EntryAt(window).window.region = region;
  table_.EntryAt(window).state = EntryState::kValid;
  EXPECT_FALSE(table_.IsConsistent());  // the region does not count the window
  table_.EntryAt(region).region.bound_windows = 1;
  EXPECT_TRUE(table_.IsConsistent());
  table_.MakeReserved(window);
  EXPECT_EQ(table_.EntryAt(region).region.bound_windows, 0u);
  table_.MakeReserved(window);  // once only
  EXPECT_EQ(table_.EntryAt(region).region.bound_windows, 0u);
}

TEST_F(ProtectionTableTest, AnEntryMovesToAnotherSlotWhenItsVariantsAreSpent) {
  const SlotNumber slot = Take();
  table_.EntryAt(slot).start = 4711;
  std::set<uint32_t> seen = {table_.LocalKey(slot).value()};
  SlotNumber at = slot;
  while (at == slot) {
    at = table_.Renew(slot, false);
    EXPECT_TRUE(seen.insert(table_.LocalKey(at).value()).second);
  }
  EXPECT_EQ(table_.EntryAt(at).start, 4711u);
  EXPECT_EQ(table_.EntryAt(slot).state, EntryState::kRetired);
  EXPECT_EQ(table_.live_count(), 1u);
  EXPECT_TRUE(table_.IsConsistent());
}

TEST_F(ProtectionTableTest, AnEntryKeepsItsSlotIfThereIsNoOther) {
  const SlotNumber slot = Take();
  while (table_.Take(EntryType::kRegion, kPd, false).has_value()) continue;
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(table_.Renew(slot, false), slot);
  EXPECT_TRUE(table_.IsConsistent());
}

TEST_F(ProtectionTableTest, ASpentSlotIsQuarantinedAndThenFree) {
  const SlotNumber slot = Take();
  for (int i = 0; i < 254; ++i) ASSERT_EQ(table_.Renew(slot, false), slot);
  const Key last = table_.LocalKey(slot);
  table_.Give(slot);
  EXPECT_EQ(table_.EntryAt(slot).state, EntryState::kRetired);
  EXPECT_EQ(table_.retired_count(), 1u);
  EXPECT_TRUE(table_.IsConsistent());
  EXPECT_TRUE(FailsWith(table_.FindLive(last, EntryType::kRegion), MemoryError::kNoSuchKey));
  for (int i = 0; i < 3; ++i) EXPECT_NE(Take(), slot);
  EXPECT_EQ(table_.Take(EntryType::kRegion, kPd, false), std::nullopt);
  table_.AdvanceTo(Time(MemoryOptions().key_quarantine));
  EXPECT_EQ(table_.EntryAt(slot).state, EntryState::kFree);
  EXPECT_EQ(Take(), slot);
}

TEST(ProtectionTableGrowthTest, EntriesKeepTheirAddressAndCostMemoryOnlyWhenUsed) {
  ProtectionTable table(MemoryOptions{});
  EXPECT_LT(table.bytes(), 1024u);
  std::map<SlotNumber, const ProtectionEntry*> places;
  for (int i = 0; i < 5000; ++i) {
    const SlotNumber slot = *table.Take(EntryType::kRegion, kPd, false);
    places[slot] = &table.EntryAt(slot);
  }
  for (const auto& [slot, place] : places) EXPECT_EQ(&table.EntryAt(slot), place);
  unsigned live = 0;
  table.ForEachLive(
      [&](SlotNumber slot, const ProtectionEntry&) { live += places.count(slot) != 0 ? 1 : 0; });
  EXPECT_EQ(live, 5000u);
  EXPECT_LT(table.bytes(), 8192u * 80);
  EXPECT_TRUE(table.IsConsistent());
}

using ProtectionTableDeathTest = ProtectionTableTest;

TEST_F(ProtectionTableDeathTest, RefusesToFreeASlotTwice) {
  const SlotNumber slot = Take();
  table_.Give(slot);
  EXPECT_DEATH(table_.Give(slot), "CHECK failed");
}

}  // namespace
}  // namespace verbena::memory
