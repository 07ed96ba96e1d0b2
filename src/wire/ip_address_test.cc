#include "wire/ip_address.h"

#include <gtest/gtest.h>

namespace verbena::wire {
namespace {

constexpr IpAddress kIpv6{{0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0A, 0xBC, 0, 1}};

TEST(IpAddressTest, MapsIpv4) {
  const Ipv4Address address(0x0A4D0001);
  const IpAddress mapped = IpAddress::FromIpv4(address);
  EXPECT_EQ(mapped.bytes[9], 0);
  EXPECT_EQ(mapped.bytes[10], 0xFF);
  EXPECT_EQ(mapped.bytes[11], 0xFF);
  EXPECT_EQ(mapped.ipv4(), address);
  EXPECT_EQ(ToString(mapped), "10.77.0.1");
}

TEST(IpAddressTest, TakesNothingElseForIpv4) {
  EXPECT_EQ(kIpv6.ipv4(), std::nullopt);
  EXPECT_EQ(IpAddress{}.ipv4(), std::nullopt);
  IpAddress nearly = IpAddress::FromIpv4(Ipv4Address(1));
  nearly.bytes[0] = 1;
  EXPECT_EQ(nearly.ipv4(), std::nullopt);
}

TEST(IpAddressTest, SaysWhatItHolds) {
  EXPECT_EQ(ToString(Ipv4Address(0xFFFFFFFF)), "255.255.255.255");
  EXPECT_EQ(ToString(kIpv6), "fd77:0:0:0:0:0:abc:1");
}

}  // namespace
}  // namespace verbena::wire
