#include "wire/udp_header.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr UdpHeader kExample{
    .source_port = 0xC001, .destination_port = 4791, .length = 24, .checksum = 0xABCD};

TEST(UdpHeaderTest, HasTheBytesOfTheSpecification) { ExpectBytes(kExample, "c001 12b7 0018 abcd"); }

TEST(UdpHeaderTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return UdpHeader{.source_port = static_cast<uint16_t>(random.Next32()),
                     .destination_port = static_cast<uint16_t>(random.Next32()),
                     .length = static_cast<uint16_t>(random.Next32()),
                     .checksum = static_cast<uint16_t>(random.Next32())};
  });
}

TEST(UdpHeaderTest, HasATextForm) {
  EXPECT_EQ(ToString(kExample), "UDP 49153 -> 4791, length 24, checksum 0xabcd");
}

}  // namespace
}  // namespace verbena::wire
