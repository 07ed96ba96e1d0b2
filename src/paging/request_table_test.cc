#include "paging/request_table.h"

#include <gtest/gtest.h>

namespace verbena::paging {
namespace {

TEST(RequestTable, HasALimit) {
  RequestTable requests(2);
  const uint32_t first = requests.New({.ticket = Ticket(5)});
  const uint32_t second = requests.New({});
  EXPECT_EQ(requests[first].ticket, Ticket(5));
  EXPECT_EQ(requests.New({}), RequestTable::kNone);
  EXPECT_EQ(requests.size(), 2U);
  requests.Delete(second);
  EXPECT_NE(requests.New({}), RequestTable::kNone);
}

TEST(RequestTable, KeepsWaitingRequestsInOrder) {
  RequestTable requests(3);
  EXPECT_EQ(requests.head(), RequestTable::kNone);
  const uint32_t first = requests.New({});
  const uint32_t second = requests.New({});
  requests.PushLine(first);
  requests.PushLine(second);
  EXPECT_EQ(requests.head(), first);
  requests.PopLine();
  EXPECT_EQ(requests.head(), second);
  requests.PopLine();
  EXPECT_EQ(requests.head(), RequestTable::kNone);
  requests.PushLine(first);
  EXPECT_EQ(requests.head(), first);
}

}  // namespace
}  // namespace verbena::paging
