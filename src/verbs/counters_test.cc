#include "verbs/counters.h"

#include <gtest/gtest.h>

namespace verbena::verbs {
namespace {

TEST(CountersTest, AddsEveryCounter) {
  DeviceCounters one;
  one.port.packets_sent = 1;
  one.port.dropped[static_cast<size_t>(Drop::kWrongPeer)] = 2;
  one.sockets.send_dropped[static_cast<size_t>(SendDrop::kOther)] = 3;
  one.events_lost = 4;
  one.budget.pages_read = 5;
  one.budget.resident_peak = 6;
  DeviceCounters sum = one;
  Add(sum, one);
  EXPECT_EQ(sum.port.packets_sent, 2U);
  EXPECT_EQ(sum.port.dropped_for(Drop::kWrongPeer), 4U);
  EXPECT_EQ(sum.sockets.dropped_for(SendDrop::kOther), 6U);
  EXPECT_EQ(sum.events_lost, 8U);
  EXPECT_EQ(sum.budget.pages_read, 10U);
  EXPECT_EQ(sum.budget.resident_peak, 6U) << "the maximum, not the sum";
}

}  // namespace
}  // namespace verbena::verbs
