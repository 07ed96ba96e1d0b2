#include "adapter/objects/qp_table.h"

#include <set>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

using fabric::EndpointId;

class NumberedQp {
 public:
  explicit NumberedQp(QpNumber number) : number_(number) {}
  QpNumber number() const { return number_; }
  void set_number(QpNumber number) { number_ = number; }

 private:
  QpNumber number_;
};

class Table : public QpTable<NumberedQp> {
 public:
  Table(uint16_t endpoint, uint32_t qps_max, uint64_t seed = 1) : QpTable(qps_max, seed) {
    AddEndpoint(EndpointId(endpoint));
  }
};

NumberedQp& Add(Table& table) {
  return table.Insert(std::make_unique<NumberedQp>(*table.NextNumber()));
}

TEST(QpTable, FindsByNumberWithTheEndpointInFront) {
  Table table(700, 10);
  NumberedQp& qp = Add(table);
  EXPECT_EQ(EndpointOf(qp.number()), EndpointId(700));
  EXPECT_EQ(table.Find(qp.number()), &qp);
  EXPECT_EQ(table.size(), 1U);
  // The same number in another process is another queue pair.
  EXPECT_EQ(table.Find(MakeQpNumber(EndpointId(701), NumberWithin(qp.number()))), nullptr);
  EXPECT_EQ(table.Find(QpNumber(qp.number().value() + 1)), nullptr);
}

TEST(QpTable, NoticesAQueuePairAtTheWrongNumber) {
  Table table(700, 10);
  NumberedQp& qp = Add(table);
  Add(table);
  EXPECT_TRUE(table.IsConsistent());
  const QpNumber number = qp.number();
  qp.set_number(QpNumber(number.value() ^ 1));
  EXPECT_FALSE(table.IsConsistent());
  qp.set_number(number);
  table.Erase(number);
  EXPECT_TRUE(table.IsConsistent());
}

TEST(QpTable, NeverGivesOutTheNumbersOfManagementAndMulticast) {
  Table first(0, 1), last(4'095, 1);
  for (uint32_t i = 0; i < 2 * Table::kNumbers; ++i) {
    const QpNumber low = Add(first).number();
    ASSERT_GT(low.value(), 1U);
    first.Erase(low);
    const QpNumber high = Add(last).number();
    ASSERT_NE(high, wire::kMulticastQp);
    last.Erase(high);
  }
}

// A process that starts again at the same endpoint uses other numbers than before.
TEST(QpTable, TheFirstNumberFollowsFromTheSeed) {
  std::set<uint32_t> first;
  constexpr size_t kTables = 64;
  for (uint64_t seed = 1; seed <= kTables; ++seed) {
    Table table(1, 1, seed), same(1, 1, seed);
    const QpNumber number = Add(table).number();
    EXPECT_EQ(number, Add(same).number());
    first.insert(number.value());
  }
  EXPECT_GT(first.size(), kTables * 9 / 10);
}

TEST(QpTable, ANumberIsReusedOnlyAfterAllOthers) {
  Table table(1, 2);
  const QpNumber first = Add(table).number();
  table.Erase(first);
  EXPECT_EQ(table.Find(first), nullptr);
  for (uint32_t i = 1; i < Table::kNumbers; ++i) {
    const QpNumber next = Add(table).number();
    ASSERT_NE(next, first);
    table.Erase(next);
  }
  EXPECT_EQ(Add(table).number(), first);
}

TEST(QpTable, PassesOverNumbersThatAreInUse) {
  Table table(1, 2);
  const QpNumber kept = Add(table).number();
  for (uint32_t i = 0; i < 2 * Table::kNumbers; ++i) {
    const QpNumber next = Add(table).number();
    ASSERT_NE(next, kept);
    table.Erase(next);
  }
  EXPECT_NE(table.Find(kept), nullptr);
}

TEST(QpTable, HoldsItsLimit) {
  Table table(1, 2);
  Add(table);
  const QpNumber second = Add(table).number();
  EXPECT_TRUE(table.is_full());
  EXPECT_FALSE(table.NextNumber().has_value());
  table.Erase(second);
  EXPECT_TRUE(table.NextNumber().has_value());
}

// Even a process that has as many queue pairs as an endpoint allows, and replaces one all the time,
// does not reuse the number of a destroyed one soon.
TEST(QpTable, AFullEndpointKeepsNumbersInQuarantine) {
  Table table(1, 100'000);
  while (table.NextNumber()) Add(table);
  EXPECT_EQ(table.size(), Table::kLiveMax);
  EXPECT_FALSE(table.is_full());
  QpNumber any;
  table.ForEach([&](NumberedQp& qp) { any = qp.number(); });
  table.Erase(any);
  for (uint32_t i = 0; i < Table::kNumbers - Table::kLiveMax; ++i) {
    const QpNumber next = Add(table).number();
    ASSERT_NE(next, any);
    table.Erase(next);
  }
  EXPECT_EQ(Add(table).number(), any);
}

TEST(QpTable, AnotherEndpointHasMoreNumbers) {
  Table table(1, 100'000);
  while (table.NextNumber()) Add(table);
  ASSERT_TRUE(table.has_room_for_endpoint());
  table.AddEndpoint(EndpointId(9));
  EXPECT_TRUE(table.Has(EndpointId(9)));
  EXPECT_FALSE(table.Has(EndpointId(8)));
  NumberedQp& qp = Add(table);
  EXPECT_EQ(EndpointOf(qp.number()), EndpointId(9));
  EXPECT_EQ(table.Find(qp.number()), &qp);
  EXPECT_EQ(table.size(), Table::kLiveMax + 1);
}

TEST(QpTable, VisitsEachOnce) {
  Table table(1, 4);
  Add(table);
  const QpNumber middle = Add(table).number();
  Add(table);
  table.Erase(middle);
  size_t seen = 0;
  table.ForEach([&](NumberedQp& qp) {
    EXPECT_NE(qp.number(), middle);
    ++seen;
  });
  EXPECT_EQ(seen, 2U);
}

}  // namespace
}  // namespace verbena::adapter
