#include "rdmacm/rsocket/datagram_destinations.h"

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

SocketName Name(uint32_t number) {
  return SocketName::From(
      DatagramAddress{IpAddress::FromIpv4(Ipv4Address(0x0A000000 + number)), 1});
}

TEST(DatagramDestinations, FindsInsertedDestinations) {
  DatagramDestinations destinations;
  EXPECT_EQ(destinations.Find(Name(1)), nullptr);
  DatagramDestination& first = destinations.Insert(Name(1));
  EXPECT_EQ(&destinations.Insert(Name(1)), &first);
  EXPECT_EQ(destinations.Find(Name(1)), &first);
  EXPECT_EQ(destinations.size(), 1U);
  EXPECT_EQ(destinations.FindByResolver(nullptr), nullptr);
}

TEST(DatagramDestinations, DropsTheLeastRecentlyUsed) {
  DatagramDestinations destinations;
  for (uint32_t i = 0; i < kDestinationsMax; ++i) destinations.Insert(Name(i)).qpn = i;
  ASSERT_NE(destinations.Find(Name(0)), nullptr);
  destinations.Insert(Name(kDestinationsMax)).qpn = kDestinationsMax;
  EXPECT_EQ(destinations.size(), kDestinationsMax);
  EXPECT_NE(destinations.Find(Name(0)), nullptr);
  EXPECT_EQ(destinations.Find(Name(1)), nullptr);
}

}  // namespace
}  // namespace verbena::rsockets
