#include "fabric/address.h"

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

TEST(Endpoint, Text) {
  EXPECT_EQ(ToString(UdpAddress{IpAddress::FromIpv4(10, 0, 0, 1), 4791}), "10.0.0.1:4791");
  EXPECT_EQ(ToString(UdpAddress{IpAddress::Ipv6Loopback(), 80}), "[::1]:80");
}

}  // namespace
}  // namespace verbena::fabric
