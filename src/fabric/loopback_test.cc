#include "fabric/loopback.h"

#include <cstring>

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

constexpr Route kRoute{.from = IpAddress::FromIpv4(127, 0, 0, 1),
                       .to = {IpAddress::FromIpv4(127, 0, 0, 2), 4791},
                       .traffic_class = 4};
constexpr uint16_t kPort = 4793;

// A datagram of `size` bytes, all of them `value`.
bool Put(Loopback& loopback, size_t size, int value) {
  const auto place = loopback.Reserve(kRoute, kPort, size);
  if (!place) return false;
  EXPECT_EQ(place->bytes.size(), size);
  std::memset(place->bytes.data(), value, size);
  return true;
}

TEST(Loopback, CarriesInOrder) {
  Loopback loopback({.datagrams = 4, .bytes = 100});
  EXPECT_TRUE(loopback.empty());
  ASSERT_TRUE(Put(loopback, 10, 1));
  ASSERT_TRUE(Put(loopback, 20, 2));
  EXPECT_FALSE(loopback.empty());
  const auto received = loopback.Receive();
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].bytes.size(), 10u);
  EXPECT_EQ(received[0].bytes[9], std::byte{1});
  EXPECT_EQ(received[1].bytes.size(), 20u);
  EXPECT_EQ(received[1].bytes[0], std::byte{2});
  EXPECT_EQ(received[1].from, (UdpAddress{kRoute.from, kPort}));
  EXPECT_EQ(received[1].to, kRoute.to.ip);
  EXPECT_EQ(received[1].traffic_class, kRoute.traffic_class);
  EXPECT_TRUE(loopback.Receive().empty());
}

TEST(Loopback, ResponsesDoNotOverwriteReceivedDatagrams) {
  Loopback loopback({.datagrams = 4, .bytes = 100});
  ASSERT_TRUE(Put(loopback, 50, 1));
  for (int value = 1; value < 20; ++value) {
    const auto received = loopback.Receive();
    ASSERT_EQ(received.size(), 1u);
    ASSERT_TRUE(Put(loopback, 50, value + 1));
    for (const std::byte b : received[0].bytes) ASSERT_EQ(b, static_cast<std::byte>(value));
  }
}

TEST(Loopback, IsBoundedInDatagrams) {
  Loopback loopback({.datagrams = 2, .bytes = 100});
  EXPECT_EQ(loopback.room(1), 2u);
  EXPECT_TRUE(Put(loopback, 1, 0));
  EXPECT_TRUE(Put(loopback, 1, 0));
  EXPECT_EQ(loopback.room(1), 0u);
  EXPECT_FALSE(Put(loopback, 1, 0));
  EXPECT_EQ(loopback.Receive().size(), 2u);
  EXPECT_TRUE(Put(loopback, 1, 0));
}

TEST(Loopback, IsBoundedInBytes) {
  Loopback loopback({.datagrams = 9, .bytes = 100});
  EXPECT_EQ(loopback.room(30), 3u);
  EXPECT_TRUE(Put(loopback, 60, 0));
  EXPECT_FALSE(Put(loopback, 41, 0));
  EXPECT_TRUE(Put(loopback, 40, 0));
  EXPECT_EQ(loopback.room(1), 0u);
}

TEST(Loopback, ACancelledDatagramDoesNotArrive) {
  Loopback loopback({.datagrams = 2, .bytes = 100});
  ASSERT_TRUE(Put(loopback, 60, 1));
  ASSERT_TRUE(Put(loopback, 40, 2));
  loopback.CancelLast();
  ASSERT_TRUE(Put(loopback, 40, 3));
  const auto received = loopback.Receive();
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[1].bytes[0], std::byte{3});
}

}  // namespace
}  // namespace verbena::fabric
