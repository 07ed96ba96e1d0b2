#include "base/slot_table.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "verbena/strong_id.h"

namespace verbena {
namespace {

using Id = StrongId<struct IdTag, uint32_t>;

// Four bits of generation: a slot lasts for 15 values.
constexpr unsigned kIndexBits = 28;
constexpr uint32_t kGenerations = 15;
using Table = SlotTable<int, Id, kIndexBits>;

uint32_t IndexOf(Id id) { return id.value() & 0x0FFFFFFF; }
uint32_t GenerationOf(Id id) { return id.value() >> kIndexBits; }

TEST(SlotTableTest, FindsInsertedElements) {
  Table table(4);
  const Id a = *table.Insert(10);
  const Id b = *table.Insert(20);
  EXPECT_NE(a, b);
  EXPECT_EQ(*table.Find(a), 10);
  *table.Find(b) = 21;
  const Table& const_table = table;
  EXPECT_EQ(*const_table.Find(b), 21);
  EXPECT_EQ(table.size(), 2u);
}

TEST(SlotTableTest, FindsNothingForIdsNeverGivenOut) {
  Table table(4);
  EXPECT_EQ(table.Find(Id(0)), nullptr);
  EXPECT_EQ(table.Find(Id(0xFFFFFFFF)), nullptr);
  const Id id = *table.Insert(10);
  EXPECT_EQ(table.Find(Id(0)), nullptr);
  EXPECT_EQ(table.Find(Id(id.value() + 1)), nullptr);
  EXPECT_EQ(table.Find(Id(id.value() + (1u << kIndexBits))), nullptr);
}

TEST(SlotTableTest, GenerationsStartAtOne) {
  Table table(1);
  EXPECT_EQ(GenerationOf(*table.Insert(10)), 1u);
}

TEST(SlotTableTest, ErasedIdGoesStale) {
  Table table(1);
  const Id stale = *table.Insert(10);
  EXPECT_TRUE(table.Erase(stale));
  EXPECT_EQ(table.Find(stale), nullptr);
  EXPECT_FALSE(table.Erase(stale));

  const Id fresh = *table.Insert(20);
  EXPECT_EQ(IndexOf(fresh), IndexOf(stale));
  EXPECT_EQ(table.Find(stale), nullptr);
  EXPECT_FALSE(table.Erase(stale));
  EXPECT_EQ(*table.Find(fresh), 20);
}

// The Id that a free slot will give out next must not work ahead of time.
TEST(SlotTableTest, ForgedNextIdFindsNothing) {
  Table table(1);
  const Id id = *table.Insert(10);
  EXPECT_TRUE(table.Erase(id));
  const Id forged(id.value() + (1u << kIndexBits));
  EXPECT_EQ(table.Find(forged), nullptr);
  EXPECT_FALSE(table.Erase(forged));
  EXPECT_EQ(table.Insert(20), forged);
}

TEST(SlotTableTest, FullTableRefuses) {
  Table table(2);
  const Id a = *table.Insert(1);
  ASSERT_TRUE(table.Insert(2).has_value());
  EXPECT_EQ(table.Insert(3), std::nullopt);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_TRUE(table.Erase(a));
  EXPECT_TRUE(table.Insert(3).has_value());
  EXPECT_TRUE(table.IsConsistent());
}

TEST(SlotTableTest, TableWithoutCapacityIsAlwaysFull) {
  Table table(0);
  EXPECT_EQ(table.capacity(), 0u);
  EXPECT_EQ(table.Insert(1), std::nullopt);
  EXPECT_TRUE(table.IsConsistent());
}

TEST(SlotTableTest, ReusesTheSlotFreedFirst) {
  Table table(4);
  const Id a = *table.Insert(1);
  const Id b = *table.Insert(2);
  ASSERT_TRUE(table.Insert(3).has_value());
  EXPECT_TRUE(table.Erase(b));
  EXPECT_TRUE(table.Erase(a));
  EXPECT_EQ(IndexOf(*table.Insert(4)), IndexOf(b));
  EXPECT_EQ(IndexOf(*table.Insert(5)), IndexOf(a));
}

TEST(SlotTableTest, RetiresASlotInsteadOfRepeatingAnId) {
  Table table(1);
  std::set<Id> seen;
  for (uint32_t i = 0; i < kGenerations; ++i) {
    const std::optional<Id> id = table.Insert(1);
    ASSERT_TRUE(id.has_value());
    EXPECT_TRUE(seen.insert(*id).second);
    EXPECT_EQ(table.retired(), 0u);
    EXPECT_TRUE(table.Erase(*id));
  }
  EXPECT_EQ(table.Insert(1), std::nullopt);
  EXPECT_EQ(table.retired(), 1u);
  for (const Id id : seen) EXPECT_EQ(table.Find(id), nullptr);
  EXPECT_TRUE(table.IsConsistent());
}

TEST(SlotTableTest, AddressesAreStable) {
  Table table(1000);
  const Id first = *table.Insert(-1);
  const int* const address = table.Find(first);
  for (int i = 1; i < 1000; ++i) ASSERT_TRUE(table.Insert(i).has_value());
  EXPECT_EQ(table.Find(first), address);
  EXPECT_EQ(*address, -1);
}

TEST(SlotTableTest, HoldsMoveOnlyValuesAndDestroysThemAtErase) {
  SlotTable<std::shared_ptr<int>, Id, kIndexBits> shared(1);
  const auto value = std::make_shared<int>(5);
  const Id id = *shared.Insert(value);
  EXPECT_EQ(value.use_count(), 2);
  EXPECT_TRUE(shared.Erase(id));
  EXPECT_EQ(value.use_count(), 1);

  SlotTable<std::unique_ptr<int>, Id, kIndexBits> unique(1);
  EXPECT_EQ(**unique.Find(*unique.Insert(std::make_unique<int>(6))), 6);
}

TEST(SlotTableTest, ForEachMeetsEachAndMayErase) {
  Table table(10);
  std::array<Id, 10> ids;
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = *table.Insert(static_cast<int>(i));
  int next = 0;
  table.ForEach([&](Id id, int& value) {
    EXPECT_EQ(id, ids.at(static_cast<std::size_t>(next)));
    EXPECT_EQ(value, next++);
    if (value % 2 == 0) {
      EXPECT_TRUE(table.Erase(id));
    }
  });
  EXPECT_EQ(next, 10);

  std::vector<int> left;
  const Table& const_table = table;
  const_table.ForEach([&](Id, const int& value) { left.push_back(value); });
  EXPECT_EQ(left, (std::vector<int>{1, 3, 5, 7, 9}));
  EXPECT_TRUE(table.IsConsistent());
}

TEST(SlotTableDeathTest, RefusesCapacityBeyondTheIndex) {
  using Small = SlotTable<int, Id, 4>;
  EXPECT_EQ(Small(16).capacity(), 16u);
  EXPECT_DEATH(Small(17), "CHECK failed");
}

// Against a std::map, until every slot is worn out.
TEST(SlotTableTest, AgreesWithAMapForItsWholeLife) {
  constexpr uint32_t kCapacity = 8;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Table table(kCapacity);
    std::map<Id, int> model;
    std::vector<Id> given_out;
    int next = 0;
    while (table.retired() < kCapacity) {
      if (random.Chance(1, 2)) {
        const std::optional<Id> id = table.Insert(next);
        ASSERT_EQ(id.has_value(), model.size() + table.retired() < kCapacity);
        if (id) {
          ASSERT_TRUE(model.emplace(*id, next++).second);
          given_out.push_back(*id);
        }
      } else if (!given_out.empty()) {
        const Id id = given_out[random.Below(given_out.size())];
        ASSERT_EQ(table.Erase(id), model.erase(id) == 1);
      }
      ASSERT_EQ(table.size(), model.size());
      ASSERT_TRUE(table.IsConsistent());
      for (const Id id : given_out) {
        const int* const found = table.Find(id);
        ASSERT_EQ(found != nullptr, model.contains(id));
        if (found == nullptr) continue;
        ASSERT_EQ(*found, model.at(id));
      }
    }
    EXPECT_EQ(given_out.size(), kCapacity * kGenerations);
    EXPECT_EQ(std::set<Id>(given_out.begin(), given_out.end()).size(), given_out.size());
  }
}

}  // namespace
}  // namespace verbena
