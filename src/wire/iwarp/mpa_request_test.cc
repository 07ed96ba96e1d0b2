#include "wire/iwarp/mpa_request.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr MpaRequest kRequest{
    .kind = MpaFrameKind::kRequest, .markers = true, .private_data_length = 0x0123};

TEST(MpaRequestTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kRequest, "4d504120494420526571204672616d65 80 01 0123");
  ExpectBytes(MpaRequest{.kind = MpaFrameKind::kReply,
                         .crc = true,
                         .rejects = true,
                         .enhanced = true,
                         .revision = 2},
              "4d504120494420526570204672616d65 70 02 0000");
}

TEST(MpaRequestTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return MpaRequest{.kind = random.Below(2) == 0 ? MpaFrameKind::kRequest : MpaFrameKind::kReply,
                      .markers = random.Below(2) == 0,
                      .crc = random.Below(2) == 0,
                      .rejects = random.Below(2) == 0,
                      .enhanced = random.Below(2) == 0,
                      .revision = static_cast<uint8_t>(random.Below(256)),
                      .private_data_length = static_cast<uint16_t>(random.Below(65'536))};
  });
}

TEST(MpaRequestTest, RefusesEveryOtherKey) {
  for (size_t i = 0; i < MpaRequest::kKeySize; ++i) {
    auto bytes = Written(kRequest);
    bytes[i] ^= std::byte{0x20};
    EXPECT_EQ(MpaRequest::Parse(bytes), std::nullopt) << i;
  }
}

TEST(MpaRequestTest, IgnoresReservedBits) {
  auto bytes = Written(kRequest);
  bytes[16] |= std::byte{0x0F};
  EXPECT_EQ(MpaRequest::Parse(bytes), kRequest);
}

TEST(MpaRequestTest, HasATextForm) {
  EXPECT_EQ(ToString(kRequest), "MPA request, revision 1, markers, private data 291");
  EXPECT_EQ(ToString(MpaRequest{.kind = MpaFrameKind::kReply,
                                .crc = true,
                                .rejects = true,
                                .enhanced = true,
                                .revision = 2}),
            "MPA reply, revision 2, CRC, rejects, enhanced, private data 0");
}

TEST(MpaEnhancedTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(MpaEnhanced{.peer_to_peer = true, .ird = 0x1234, .rtr_read = true, .ord = 0x2345},
              "9234 6345");
  ExpectBytes(MpaEnhanced{.rtr_zero_length = true, .rtr_write = true}, "4000 8000");
}

TEST(MpaEnhancedTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return MpaEnhanced{.peer_to_peer = random.Below(2) == 0,
                       .rtr_zero_length = random.Below(2) == 0,
                       .ird = static_cast<uint16_t>(random.Below(0x4000)),
                       .rtr_write = random.Below(2) == 0,
                       .rtr_read = random.Below(2) == 0,
                       .ord = static_cast<uint16_t>(random.Below(0x4000))};
  });
}

TEST(MpaEnhancedTest, HasATextForm) {
  EXPECT_EQ(ToString(MpaEnhanced{.peer_to_peer = true,
                                 .rtr_zero_length = true,
                                 .ird = 3,
                                 .rtr_write = true,
                                 .rtr_read = true,
                                 .ord = 4}),
            "IRD 3, ORD 4, peer to peer, RTR by empty FPDU, RTR by write, RTR by read");
}

}  // namespace
}  // namespace verbena::wire
