#include "wire/tcp_header.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr TcpHeader kExample{.source_port = 0x0102,
                             .destination_port = 0x0304,
                             .sequence = 0x11121314,
                             .acknowledgment = 0x21222324,
                             .ack = true,
                             .fin = true,
                             .window = 0x3132,
                             .checksum = 0x4142};

TEST(TcpHeaderTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kExample, "0102 0304 11121314 21222324 50 11 3132 4142 0000");
}

TEST(TcpHeaderTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return TcpHeader{.source_port = static_cast<uint16_t>(random.Next32()),
                     .destination_port = static_cast<uint16_t>(random.Next32()),
                     .sequence = random.Next32(),
                     .acknowledgment = random.Next32(),
                     .ack = random.Chance(1, 2),
                     .reset = random.Chance(1, 2),
                     .syn = random.Chance(1, 2),
                     .fin = random.Chance(1, 2),
                     .window = static_cast<uint16_t>(random.Next32()),
                     .checksum = static_cast<uint16_t>(random.Next32())};
  });
}

TEST(TcpHeaderTest, RefusesOptions) {
  auto bytes = Written(kExample);
  bytes[12] = std::byte{0x60};
  EXPECT_EQ(TcpHeader::Parse(bytes), std::nullopt);
}

TEST(TcpHeaderTest, HasATextForm) {
  EXPECT_EQ(ToString(kExample),
            "TCP 258 -> 772, sequence 286397204, ACK 555885348, FIN, window 12594");
  EXPECT_EQ(ToString(TcpHeader{.reset = true, .syn = true}),
            "TCP 0 -> 0, sequence 0, SYN, RST, window 0");
}

}  // namespace
}  // namespace verbena::wire
