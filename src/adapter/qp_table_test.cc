#include "adapter/qp_table.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

class NumberedQp {
 public:
  explicit NumberedQp(wire::QpNumber number) : number_(number) {}
  wire::QpNumber number() const { return number_; }

 private:
  wire::QpNumber number_;
};

using Table = QpTable<NumberedQp>;

NumberedQp& Add(Table& table) {
  return table.Insert(std::make_unique<NumberedQp>(*table.NextNumber()));
}

TEST(QpTable, FindsByNumberWithTheSlotInFront) {
  Table table(7, 10);
  NumberedQp& qp = Add(table);
  EXPECT_EQ(SlotOf(qp.number()), 7);
  EXPECT_EQ(table.Find(qp.number()), &qp);
  EXPECT_EQ(table.size(), 1U);
  // The same number in another process is somebody else.
  EXPECT_EQ(table.Find(wire::QpNumber(qp.number().value() ^ 1U << 16)), nullptr);
  EXPECT_EQ(table.Find(wire::QpNumber(qp.number().value() + 1)), nullptr);
}

TEST(QpTable, NeverGivesOutTheNumbersOfManagementAndMulticast) {
  Table first(0, 1), last(255, 1);
  for (uint32_t i = 0; i < 2 * Table::kNumbers; ++i) {
    const wire::QpNumber low = Add(first).number();
    ASSERT_GT(low.value(), 1U);
    first.Erase(low);
    const wire::QpNumber high = Add(last).number();
    ASSERT_NE(high, wire::kMulticastQp);
    last.Erase(high);
  }
}

TEST(QpTable, ANumberComesBackOnlyAfterAllOthers) {
  Table table(1, 2);
  const wire::QpNumber first = Add(table).number();
  table.Erase(first);
  EXPECT_EQ(table.Find(first), nullptr);
  for (uint32_t i = 1; i < Table::kNumbers; ++i) {
    const wire::QpNumber next = Add(table).number();
    ASSERT_NE(next, first);
    table.Erase(next);
  }
  EXPECT_EQ(Add(table).number(), first);
}

TEST(QpTable, PassesOverNumbersThatAreInUse) {
  Table table(1, 2);
  const wire::QpNumber kept = Add(table).number();
  for (uint32_t i = 0; i < 2 * Table::kNumbers; ++i) {
    const wire::QpNumber next = Add(table).number();
    ASSERT_NE(next, kept);
    table.Erase(next);
  }
  EXPECT_NE(table.Find(kept), nullptr);
}

TEST(QpTable, HoldsItsLimit) {
  Table table(1, 2);
  Add(table);
  const wire::QpNumber second = Add(table).number();
  EXPECT_FALSE(table.NextNumber().has_value());
  table.Erase(second);
  EXPECT_TRUE(table.NextNumber().has_value());
}

TEST(QpTable, VisitsEachOnce) {
  Table table(1, 4);
  Add(table);
  const wire::QpNumber middle = Add(table).number();
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
