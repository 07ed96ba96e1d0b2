#include "ibverbs/query/counter_files.h"

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

uint64_t Value(const std::vector<CounterFile>& files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &CounterFile::name);
  EXPECT_NE(found, files.end()) << name;
  return found != files.end() ? found->value : 0;
}

TEST(CounterFilesTest, DataIsCountedInWords) {
  DeviceCounters counters;
  counters.port.bytes_sent = 4'000;
  counters.port.bytes_received = 800;
  counters.port.packets_sent = 3;
  const auto files = PortCounterFiles(counters);
  EXPECT_EQ(Value(files, "port_xmit_data"), 1'000U);
  EXPECT_EQ(Value(files, "port_rcv_data"), 200U);
  EXPECT_EQ(Value(files, "port_xmit_packets"), 3U);
}

TEST(CounterFilesTest, EveryDropReasonIsCounted) {
  DeviceCounters counters;
  counters.sockets.malformed = 1;
  counters.port.dropped[static_cast<size_t>(Drop::kMalformed)] = 10;
  counters.port.dropped[static_cast<size_t>(Drop::kBadIcrc)] = 100;
  counters.port.dropped[static_cast<size_t>(Drop::kNoSuchQp)] = 1'000;
  for (uint64_t& refused : counters.sockets.send_dropped) refused = 2;
  EXPECT_EQ(Value(PortCounterFiles(counters), "port_rcv_errors"), 111U);
  EXPECT_EQ(Value(PortCounterFiles(counters), "port_xmit_discards"), 2 * kSendDrops);
  EXPECT_EQ(Value(HardwareCounterFiles(counters), "icrc_errors"), 100U);
  EXPECT_EQ(Value(HardwareCounterFiles(counters), "unknown_qp"), 1'000U);
}

// A counter that is always 0 would mislead.
TEST(CounterFilesTest, EveryCounterCanMove) {
  DeviceCounters counters;
  counters.port = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, {}};
  counters.port.dropped.fill(8);
  counters.sockets.send_blocked = counters.sockets.kernel_drops = counters.sockets.malformed = 8;
  counters.sockets.send_dropped.fill(8);
  for (const auto& files : {PortCounterFiles(counters), HardwareCounterFiles(counters)}) {
    for (const CounterFile& file : files) EXPECT_GT(file.value, 0U) << file.name;
  }
}

}  // namespace
}  // namespace verbena::ibverbs
