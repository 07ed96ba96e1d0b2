#include "verbena/ip_address.h"

#include <string_view>

#include <gtest/gtest.h>

namespace verbena {
namespace {

using namespace std::literals;

TEST(IpAddress, Ipv4IsTheMappedForm) {
  const IpAddress address = IpAddress::FromIpv4(10, 1, 2, 3);
  EXPECT_TRUE(address.is_ipv4());
  EXPECT_EQ(ParseIpAddress("10.1.2.3"), address);
  EXPECT_EQ(ParseIpAddress("::ffff:10.1.2.3"), address);
  EXPECT_EQ(ToString(address), "10.1.2.3");
}

TEST(IpAddress, Ipv6TextGoesThereAndBack) {
  for (const std::string_view text : {"::", "::1", "fd00::2", "fe80::1", "2001:db8:1:2:3:4:5:6"}) {
    const auto address = ParseIpAddress(text);
    ASSERT_TRUE(address) << text;
    EXPECT_FALSE(address->is_ipv4()) << text;
    EXPECT_EQ(ToString(*address), text);
  }
}

TEST(IpAddress, WhatIsNoAddressIsRefused) {
  for (const std::string_view text :
       {""sv, "10.0.0"sv, "10.0.0.256"sv, "fd00::1%eth0"sv, "[::1]"sv, "localhost"sv, "::1\0x"sv}) {
    EXPECT_FALSE(ParseIpAddress(text)) << text;
  }
}

struct KindCase {
  const char* text;
  bool loopback, link_local, multicast;
};

TEST(IpAddress, Kinds) {
  for (const KindCase& c : {KindCase{"127.0.0.1", true, false, false},
                            {"127.9.9.9", true, false, false},
                            {"::1", true, false, false},
                            {"::2", false, false, false},
                            {"169.254.3.4", false, true, false},
                            {"fe80::1", false, true, false},
                            {"febf::1", false, true, false},
                            {"fec0::1", false, false, false},
                            {"224.0.0.1", false, false, true},
                            {"239.255.0.1", false, false, true},
                            {"240.0.0.1", false, false, false},
                            {"ff02::1", false, false, true},
                            {"10.0.0.1", false, false, false}}) {
    const IpAddress address = ParseIpAddress(c.text).value();
    EXPECT_EQ(address.is_loopback(), c.loopback) << c.text;
    EXPECT_EQ(address.is_link_local(), c.link_local) << c.text;
    EXPECT_EQ(address.is_multicast(), c.multicast) << c.text;
  }
}

TEST(IpAddress, Ipv4AsANumber) {
  const Ipv4Address address(0x0A4D0001);
  const IpAddress mapped = IpAddress::FromIpv4(address);
  EXPECT_EQ(mapped, IpAddress::FromIpv4(10, 77, 0, 1));
  EXPECT_EQ(mapped.ipv4(), address);
}

TEST(IpAddress, TakesNothingElseForIpv4) {
  EXPECT_EQ(ParseIpAddress("fd77::abc:1")->ipv4(), std::nullopt);
  EXPECT_EQ(IpAddress{}.ipv4(), std::nullopt);
  IpAddress nearly = IpAddress::FromIpv4(Ipv4Address(1));
  nearly.bytes[0] = 1;
  EXPECT_EQ(nearly.ipv4(), std::nullopt);
}

}  // namespace
}  // namespace verbena
