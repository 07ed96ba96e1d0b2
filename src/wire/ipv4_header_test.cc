#include "wire/ipv4_header.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr Ipv4Header kExample{.total_length = 115,
                              .time_to_live = 64,
                              .source = Ipv4Address(0xC0A80001),
                              .destination = Ipv4Address(0xC0A800C7)};

// The checksum of a well-known example: with DF the sum is b861.
TEST(Ipv4HeaderTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kExample, "45 00 0073 0000 4000 40 11 b861 c0a80001 c0a800c7");
}

TEST(Ipv4HeaderTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return Ipv4Header{.type_of_service = static_cast<uint8_t>(random.Below(256)),
                      .total_length = static_cast<uint16_t>(random.Next32()),
                      .identification = static_cast<uint16_t>(random.Next32()),
                      .dont_fragment = random.Chance(1, 2),
                      .time_to_live = static_cast<uint8_t>(random.Below(256)),
                      .protocol = random.Chance(1, 2) ? IpProtocol::kTcp : IpProtocol::kUdp,
                      .source = Ipv4Address(random.Next32()),
                      .destination = Ipv4Address(random.Next32())};
  });
}

TEST(Ipv4HeaderTest, RefusesOptionsFragmentsAndOtherProtocols) {
  const std::vector<std::byte> good = Written(kExample);
  const auto with = [&good](std::size_t at, int value) {
    std::vector<std::byte> bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return Ipv4Header::Parse(bytes);
  };
  EXPECT_NE(with(0, 0x45), std::nullopt);
  EXPECT_EQ(with(0, 0x65), std::nullopt) << "version";
  EXPECT_EQ(with(0, 0x46), std::nullopt) << "options";
  EXPECT_EQ(with(6, 0x20), std::nullopt) << "more fragments";
  EXPECT_EQ(with(7, 0x01), std::nullopt) << "fragment offset";
  EXPECT_EQ(with(9, 1), std::nullopt) << "ICMP";
}

TEST(Ipv4HeaderTest, HasATextForm) {
  EXPECT_EQ(
      ToString(kExample),
      "IPv4 192.168.0.1 -> 192.168.0.199, length 115, identification 0x0000, DF, TTL 64, TOS 0x00");
}

}  // namespace
}  // namespace verbena::wire
