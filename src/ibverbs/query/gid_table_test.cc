#include "ibverbs/query/gid_table.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

GidEntry Entry(const std::string& address, uint32_t interface = 2) {
  return {.gid = *ParseGid(address), .interface_name = "eth0", .interface_index = interface};
}

std::string At(const GidTable::Entries& entries, size_t index) {
  return entries.at(index) ? ToString(entries.at(index)->gid) : "none";
}

TEST(GidTableTest, KeepsTheFirstOrder) {
  GidTable table;
  const auto entries = table.Merge({Entry("10.0.0.1"), Entry("fd00::1"), Entry("127.0.0.1", 1)});
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(At(entries, 0), "10.0.0.1");
  EXPECT_EQ(At(entries, 2), "127.0.0.1");
}

TEST(GidTableTest, ANewAddressIsAppended) {
  GidTable table;
  static_cast<void>(table.Merge({Entry("127.0.0.1", 1)}));
  const auto entries = table.Merge({Entry("10.0.0.1"), Entry("127.0.0.1", 1)});
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(At(entries, 0), "127.0.0.1");
  EXPECT_EQ(At(entries, 1), "10.0.0.1");
}

TEST(GidTableTest, ARemovedAddressKeepsItsEntry) {
  GidTable table;
  static_cast<void>(table.Merge({Entry("10.0.0.1"), Entry("10.0.0.2")}));
  const auto without = table.Merge({Entry("10.0.0.2")});
  EXPECT_EQ(At(without, 0), "none");
  EXPECT_EQ(At(without, 1), "10.0.0.2");
  EXPECT_EQ(GidTable::Present(without).size(), 1U);
  EXPECT_EQ(At(table.Merge({Entry("10.0.0.2"), Entry("10.0.0.1")}), 0), "10.0.0.1");
}

TEST(GidTableTest, TheSameAddressOnTwoInterfacesHasTwoEntries) {
  GidTable table;
  EXPECT_EQ(table.Merge({Entry("fe80::1", 2), Entry("fe80::1", 3)}).size(), 2U);
}

TEST(GidTableTest, IsBounded) {
  GidTable table;
  std::vector<GidEntry> many;
  for (uint32_t i = 0; i < 300; ++i) many.push_back(Entry("fe80::1", i + 1));
  const auto entries = table.Merge(many);
  EXPECT_EQ(entries.size(), GidTable::kEntriesMax);
  EXPECT_EQ(GidTable::ShownLength(entries), GidTable::kEntriesMax);
}

TEST(GidTableTest, TheReportedLengthHasRoomForMore) {
  EXPECT_EQ(GidTable::ShownLength(GidTable::Entries(0)), 16U);
  EXPECT_EQ(GidTable::ShownLength(GidTable::Entries(15)), 16U);
  EXPECT_EQ(GidTable::ShownLength(GidTable::Entries(16)), 32U);
}

TEST(GidTableTest, ReadsTheAddressesOfThisMachine) {
  GidTable table;
  const auto entries = table.Read();
  ASSERT_TRUE(entries.has_value());
  bool loopback = false;
  for (size_t i = 0; i < entries->size(); ++i) loopback |= At(*entries, i) == "127.0.0.1";
  EXPECT_TRUE(loopback);
}

}  // namespace
}  // namespace verbena::ibverbs
