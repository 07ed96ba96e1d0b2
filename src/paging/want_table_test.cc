#include "paging/want_table.h"

#include <gtest/gtest.h>

namespace verbena::paging {
namespace {

TEST(WantTable, HasALimit) {
  WantTable wants(2);
  const uint32_t first = wants.New({.ticket = Ticket(5)});
  const uint32_t second = wants.New({});
  EXPECT_EQ(wants[first].ticket, Ticket(5));
  EXPECT_EQ(wants.New({}), WantTable::kNone);
  EXPECT_EQ(wants.size(), 2U);
  wants.Delete(second);
  EXPECT_NE(wants.New({}), WantTable::kNone);
}

TEST(WantTable, KeepsALine) {
  WantTable wants(3);
  EXPECT_EQ(wants.head(), WantTable::kNone);
  const uint32_t first = wants.New({});
  const uint32_t second = wants.New({});
  wants.PushLine(first);
  wants.PushLine(second);
  EXPECT_EQ(wants.head(), first);
  wants.PopLine();
  EXPECT_EQ(wants.head(), second);
  wants.PopLine();
  EXPECT_EQ(wants.head(), WantTable::kNone);
  wants.PushLine(first);
  EXPECT_EQ(wants.head(), first);
}

}  // namespace
}  // namespace verbena::paging
