#include "wire/mad/ip_cm.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr IpCmHeader kIpv4{.minor_version = 0,
                           .source_port = 0xC123,
                           .source = IpAddress::FromIpv4(Ipv4Address(0x0A000001)),
                           .destination = IpAddress::FromIpv4(Ipv4Address(0x0A000002))};
constexpr IpCmHeader kIpv6{.minor_version = 3,
                           .source_port = 7,
                           .source = {{0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                           .destination = {{0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}};

TEST(IpCmTest, ServiceIdsHaveThePrefixTheProtocolAndThePort) {
  const IpCmService service{.protocol = IpCmProtocol::kTcp, .port = 7174};
  EXPECT_EQ(ServiceIdOf(service), ServiceId(0x0000000001061C06));
  EXPECT_EQ(IpCmServiceOf(ServiceIdOf(service)), service);
  EXPECT_EQ(ServiceIdOf({.protocol = IpCmProtocol::kUdp, .port = 0xFFFF}),
            ServiceId(0x000000000111FFFF));
  EXPECT_EQ(IpCmServiceOf(ServiceId(0x0000000101061C06)), std::nullopt);
  EXPECT_EQ(IpCmServiceOf(ServiceId(0x0000000000061C06)), std::nullopt);
}

TEST(IpCmTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kIpv4,
              "00 40 c123 000000000000000000000000 0a000001 000000000000000000000000 0a000002");
  ExpectBytes(kIpv6,
              "03 60 0007 fd770000000000000000000000000001 fd770000000000000000000000000002");
}

TEST(IpCmTest, RefusesOtherVersions) {
  for (const auto& [byte, value] : {std::pair{0, 0x10}, {1, 0x50}, {1, 0x00}, {1, 0xF0}}) {
    auto bytes = Written(kIpv4);
    bytes[static_cast<size_t>(byte)] = static_cast<std::byte>(value);
    EXPECT_EQ(IpCmHeader::Parse(bytes), std::nullopt) << byte << " " << value;
  }
}

// Serializing such a header would change it.
TEST(IpCmTest, RefusesMappedAddressesAsIpv6) {
  auto bytes = Written(kIpv6);
  const auto mapped = FromHex("00000000000000000000ffff0a000001");
  std::ranges::copy(mapped, bytes.begin() + 4);
  EXPECT_EQ(IpCmHeader::Parse(bytes), std::nullopt);
}

TEST(IpCmTest, IgnoresReservedBits) {
  auto bytes = Written(kIpv4);
  bytes[1] = std::byte{0x4F};
  bytes[4] = bytes[20] = std::byte{0xFF};  // before an IPv4 address
  EXPECT_EQ(IpCmHeader::Parse(bytes), kIpv4);
}

TEST(IpCmTest, HasATextForm) {
  EXPECT_EQ(ToString(kIpv4), "IP CM from 10.0.0.1 port 49443 to 10.0.0.2");
}

}  // namespace
}  // namespace verbena::wire
