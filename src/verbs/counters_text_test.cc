#include <gtest/gtest.h>

#include "verbena/counters.h"

namespace verbena {
namespace {

TEST(CountersTextTest, PrintsOnlyCountersThatAreNotZero) {
  DeviceCounters counters;
  EXPECT_EQ(ToString(counters), "");
  counters.port.packets_sent = 12;
  counters.sockets.kernel_drops = 3;
  EXPECT_EQ(ToString(counters), "packets sent: 12\ndropped by the kernel: 3\n");
}

TEST(CountersTextTest, RefusalsAreCountedByCheck) {
  DeviceCounters counters;
  counters.port.refusals.local['e' - kFirstCheck] = 2;
  counters.port.refusals.remote['b' - kFirstCheck] = 1;
  EXPECT_EQ(ToString(counters),
            "own work requests refused by check e (bounds): 2\n"
            "requests of peers refused by check b (type): 1\n");
}

}  // namespace
}  // namespace verbena
