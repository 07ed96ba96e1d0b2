#include "transport/common/outbox.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

constexpr size_t kPackets = 4;

PageRequest RequestWith(uint64_t ticket) {
  return {.qp = {}, .ticket = FaultTicket(ticket), .fault = {}};
}

std::vector<uint64_t> TicketsIn(const Outbox& outbox) {
  std::vector<uint64_t> tickets;
  for (const PageRequest& request : outbox.page_requests()) {
    tickets.push_back(request.ticket.value());
  }
  return tickets;
}

TEST(OutboxTest, IsCrowdedWhenItMustBeDrainedBeforeTheNextInput) {
  Outbox outbox(kPackets);
  for (uint64_t i = 0; i < kPackets; ++i) {
    EXPECT_FALSE(outbox.is_crowded());
    outbox.RequestPages(RequestWith(i));
  }
  EXPECT_TRUE(outbox.is_crowded());
  outbox.Clear();
  EXPECT_FALSE(outbox.is_crowded());
  for (size_t i = 0; i < kPackets; ++i) outbox.Raise({AsyncEventType::kQpFatal, {}});
  EXPECT_TRUE(outbox.is_crowded());
}

TEST(OutboxTest, APrefetchIsDroppedWithoutRoom) {
  Outbox outbox(kPackets);
  for (uint64_t i = 0; i < 2 * kPackets; ++i) outbox.PrefetchPages(RequestWith(i));
  EXPECT_EQ(outbox.page_requests().size(), kPackets);
  outbox.RequestPages(RequestWith(99));
  EXPECT_EQ(TicketsIn(outbox).back(), 99U);
}

TEST(OutboxTest, PageRequestsThatCannotBePassedOnStay) {
  Outbox outbox(kPackets);
  for (uint64_t i = 0; i < 3; ++i) outbox.RequestPages(RequestWith(i));
  outbox.Raise({AsyncEventType::kQpFatal, {}});
  outbox.PassOnPageRequests(
      [](const PageRequest& request) { return request.ticket != FaultTicket(1); });
  outbox.ClearOthers();
  EXPECT_EQ(TicketsIn(outbox), std::vector<uint64_t>{1});
  EXPECT_TRUE(outbox.events().empty());
}

}  // namespace
}  // namespace verbena::transport
