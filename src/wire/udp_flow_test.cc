#include "wire/udp_flow.h"

#include <gtest/gtest.h>

#include "wire/ipv4_header.h"

namespace verbena::wire {
namespace {

constexpr UdpFlow kIpv4{.source = IpAddress::FromIpv4(Ipv4Address(0x0A000001)),
                        .destination = IpAddress::FromIpv4(Ipv4Address(0x0A000002)),
                        .source_port = 49152,
                        .destination_port = 4791};
constexpr UdpFlow kIpv6{.source = {{0xFD, 1}},
                        .destination = {{0xFD, 2}},
                        .source_port = 49152,
                        .destination_port = 4791};

TEST(UdpFlowTest, MakesIpv4Headers) {
  const IpUdpHeaders headers = kIpv4.HeadersFor(100);
  ASSERT_EQ(headers.bytes().size(), Ipv4Header::kSize + UdpHeader::kSize);
  EXPECT_EQ(Ipv4Header::Parse(headers.bytes()),
            (Ipv4Header{.total_length = 128,
                        .source = Ipv4Address(0x0A000001),
                        .destination = Ipv4Address(0x0A000002)}));
  EXPECT_EQ(UdpHeader::Parse(headers.bytes().subspan(Ipv4Header::kSize)),
            (UdpHeader{.source_port = 49152, .destination_port = 4791, .length = 108}));
}

TEST(UdpFlowTest, MakesIpv6Headers) {
  const IpUdpHeaders headers = kIpv6.HeadersFor(0);
  ASSERT_EQ(headers.bytes().size(), Ipv6Header::kSize + UdpHeader::kSize);
  EXPECT_EQ(
      Ipv6Header::Parse(headers.bytes()),
      (Ipv6Header{.payload_length = 8, .source = kIpv6.source, .destination = kIpv6.destination}));
  EXPECT_EQ(UdpHeader::Parse(headers.bytes().subspan(Ipv6Header::kSize)),
            (UdpHeader{.source_port = 49152, .destination_port = 4791, .length = 8}));
}

TEST(UdpFlowTest, AcceptsTheLongestDatagram) {
  const IpUdpHeaders headers = kIpv4.HeadersFor(65'507);
  EXPECT_EQ(Ipv4Header::Parse(headers.bytes())->total_length, 65'535);
}

TEST(UdpFlowTest, HasATextForm) {
  EXPECT_EQ(ToString(kIpv4), "10.0.0.1 port 49152 -> 10.0.0.2 port 4791");
}

TEST(UdpFlowDeathTest, RefusesInvalidSizesAndAddresses) {
  EXPECT_DEATH((void)kIpv4.HeadersFor(65'508), "CHECK failed");
  const UdpFlow mixed{.source = kIpv4.source, .destination = kIpv6.destination};
  EXPECT_DEATH((void)mixed.HeadersFor(0), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
