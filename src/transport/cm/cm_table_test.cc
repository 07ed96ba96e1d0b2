#include "transport/cm/cm_table.h"

#include <set>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using Id = StrongId<struct CmTableTestTag, uint32_t>;

struct Object {
  Time at = Time::Never();
  [[nodiscard]] Time deadline() const { return at; }
};

constexpr Time At(int64_t ns) { return Time(Nanoseconds(ns)); }

TEST(CmTableTest, IsBoundedAndReusesNoId) {
  CmTable<Object, Id> table(2, 0xABCD0123);
  std::set<Id> ids;
  for (int i = 0; i < 100; ++i) {
    const auto a = table.Insert({}), b = table.Insert({});
    ASSERT_TRUE(a && b);
    EXPECT_EQ(table.Insert({}), std::nullopt);
    EXPECT_TRUE(ids.insert(*a).second);
    EXPECT_TRUE(ids.insert(*b).second);
    table.Erase(*a);
    EXPECT_EQ(table.Find(*a), nullptr);
    EXPECT_NE(table.Find(*b), nullptr);
    table.Erase(*b);
    EXPECT_TRUE(table.IsConsistent());
  }
}

// The first slot has number 0 and generation 1.
TEST(CmTableTest, NoIdIsZero) {
  CmTable<Object, Id> table(2, 0x00010000);
  const auto id = table.Insert({});
  ASSERT_TRUE(id);
  EXPECT_NE(*id, Id(0));
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.Find(Id(0)), nullptr);
}

TEST(CmTableTest, ReturnsDueObjects) {
  CmTable<Object, Id> table(2, 0);
  const Id a = *table.Insert({}), b = *table.Insert({});
  table.Find(a)->at = At(20);
  table.UpdateDeadline(a);
  table.Find(b)->at = At(10);
  EXPECT_FALSE(table.IsConsistent());
  table.UpdateDeadline(b);
  EXPECT_TRUE(table.IsConsistent());
  EXPECT_EQ(table.next_time(), At(10));
  EXPECT_EQ(table.Due(At(9)), std::nullopt);
  EXPECT_EQ(table.Due(At(30)), b);
  table.Erase(b);
  EXPECT_EQ(table.Due(At(30)), a);
}

}  // namespace
}  // namespace verbena::transport
