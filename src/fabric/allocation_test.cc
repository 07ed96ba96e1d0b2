// The data path allocates nothing. The operators new and delete of this program count allocations.

#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include "fabric/loopback.h"
#include "fabric/udp_fabric.h"
#include "tests/support/counted_allocations.h"
#include "tests/support/udp_peers.h"

namespace verbena::fabric {
namespace {

constexpr IpAddress kLoopback = IpAddress::FromIpv4(127, 0, 0, 1);

TEST(Allocation, IsCounted) {
  const size_t before = allocations;
  EXPECT_EQ(std::make_unique<std::byte[]>(10)[0], std::byte{});
  EXPECT_EQ(allocations, before + 1);
}

size_t AllocationsOfBursts(bool offloads) {
  UdpFabricOptions options = TestOptions();
  options.socket.offloads = offloads;
  const auto fabric = OpenOrDie(options);
  const Route route{.from = kLoopback, .to = {kLoopback, fabric->port()}};
  const size_t before = allocations;
  size_t received = 0;
  for (int burst = 0; burst < 100; ++burst) {
    while (const auto place = fabric->Reserve(route, 2'000)) {
      place->bytes[0] = std::byte{1};
      if (fabric->room(2'000) < 32) break;
    }
    if (fabric->Flush() != FlushResult::kDone) break;
    for (auto datagrams = fabric->Receive(); !datagrams.empty(); datagrams = fabric->Receive()) {
      received += datagrams.size();
    }
  }
  const size_t allocated = allocations - before;
  EXPECT_GT(received, 1'000u);
  return allocated;
}

TEST(Allocation, BurstsDoNone) {
  EXPECT_EQ(AllocationsOfBursts(true), 0u);
  EXPECT_EQ(AllocationsOfBursts(false), 0u);
}

TEST(Allocation, LoopbackDoesNone) {
  Loopback loopback({});
  const Route route{.from = kLoopback, .to = {kLoopback, 1}};
  const size_t before = allocations;
  size_t received = 0;
  for (int round = 0; round < 10; ++round) {
    while (loopback.Reserve(route, 2, 2'000)) {
    }
    received += loopback.Receive().size();
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(received, 2'560u);
}

}  // namespace
}  // namespace verbena::fabric
