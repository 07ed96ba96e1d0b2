#include "ibverbs/stats.h"

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

TEST(StatsTest, SaysWhatHappenedAndNoMore) {
  DeviceCounters counters;
  EXPECT_EQ(InWords(counters), "");
  counters.port.packets_sent = 12;
  counters.sockets.kernel_drops = 3;
  EXPECT_EQ(InWords(counters), "packets sent: 12\ndropped by the kernel: 3\n");
}

}  // namespace
}  // namespace verbena::ibverbs
