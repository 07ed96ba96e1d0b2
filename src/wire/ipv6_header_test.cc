#include "wire/ipv6_header.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr Ipv6Header kExample{
    .traffic_class = 0xA5,
    .flow_label = 0x12345,
    .payload_length = 0x0102,
    .hop_limit = 255,
    .source = {{0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
    .destination = {{0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}};

IpAddress AnyAddress(Random& random) {
  IpAddress address;
  for (uint8_t& byte : address.bytes) byte = static_cast<uint8_t>(random.Below(256));
  return address;
}

TEST(Ipv6HeaderTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kExample,
              "6a512345 0102 11 ff fd770000000000000000000000000001 "
              "fd770000000000000000000000000002");
}

TEST(Ipv6HeaderTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return Ipv6Header{.traffic_class = static_cast<uint8_t>(random.Below(256)),
                      .flow_label = static_cast<uint32_t>(random.Below(1 << 20)),
                      .payload_length = static_cast<uint16_t>(random.Next32()),
                      .protocol = random.Chance(1, 2) ? IpProtocol::kTcp : IpProtocol::kUdp,
                      .hop_limit = static_cast<uint8_t>(random.Below(256)),
                      .source = AnyAddress(random),
                      .destination = AnyAddress(random)};
  });
}

TEST(Ipv6HeaderTest, RefusesOtherVersionsAndExtensionHeaders) {
  std::vector<std::byte> bytes = Written(kExample);
  bytes[0] = std::byte{0x4A};
  EXPECT_EQ(Ipv6Header::Parse(bytes), std::nullopt) << "version";
  bytes = Written(kExample);
  bytes[6] = std::byte{0};
  EXPECT_EQ(Ipv6Header::Parse(bytes), std::nullopt) << "extension header";
}

TEST(Ipv6HeaderTest, HasATextForm) {
  EXPECT_EQ(ToString(kExample),
            "IPv6 fd77::1 -> fd77::2, payload length 258, hop limit 255, "
            "traffic class 0xa5, flow label 0x12345");
}

TEST(Ipv6HeaderDeathTest, RefusesALabelThatDoesNotFit) {
  std::array<std::byte, Ipv6Header::kSize> bytes{};
  EXPECT_DEATH(Ipv6Header{.flow_label = 1 << 20}.Serialize(bytes), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
