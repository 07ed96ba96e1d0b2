#include "wire/ip_header.h"

#include <array>

#include <gtest/gtest.h>

#include "wire/ipv4_header.h"

namespace verbena::wire {
namespace {

constexpr IpFields kFields{.identification = 7, .traffic_class = 8, .hop_limit = 9};

TEST(IpHeaderTest, IsOfIpv4BetweenIpv4Addresses) {
  std::array<std::byte, kIpHeaderMax> bytes{};
  const auto from = IpAddress::FromIpv4(Ipv4Address(0x0A000001));
  const auto to = IpAddress::FromIpv4(Ipv4Address(0x0A000002));
  EXPECT_EQ(WriteIpHeader(from, to, IpProtocol::kTcp, 100, kFields, bytes), 20);
  EXPECT_EQ(Ipv4Header::Parse(bytes), (Ipv4Header{.type_of_service = 8,
                                                  .total_length = 120,
                                                  .identification = 7,
                                                  .time_to_live = 9,
                                                  .protocol = IpProtocol::kTcp,
                                                  .source = Ipv4Address(0x0A000001),
                                                  .destination = Ipv4Address(0x0A000002)}));
}

TEST(IpHeaderTest, IsOfIpv6Otherwise) {
  std::array<std::byte, kIpHeaderMax> bytes{};
  const IpAddress from{{0xFD, 1}};
  const IpAddress to{{0xFD, 2}};
  EXPECT_EQ(WriteIpHeader(from, to, IpProtocol::kUdp, 100, kFields, bytes), 40);
  EXPECT_EQ(Ipv6Header::Parse(bytes), (Ipv6Header{.traffic_class = 8,
                                                  .payload_length = 100,
                                                  .protocol = IpProtocol::kUdp,
                                                  .hop_limit = 9,
                                                  .source = from,
                                                  .destination = to}));
}

TEST(IpHeaderDeathTest, RefusesAddressesOfTwoFamilies) {
  std::array<std::byte, kIpHeaderMax> bytes{};
  const auto from = IpAddress::FromIpv4(Ipv4Address(1));
  EXPECT_DEATH(WriteIpHeader(from, {{0xFD, 1}}, IpProtocol::kUdp, 1, {}, bytes), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
