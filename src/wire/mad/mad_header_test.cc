#include "wire/mad/mad_header.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr MadHeader kExample{.management_class = 0x07,
                             .class_version = 2,
                             .method = 0x03,
                             .status = 0x1234,
                             .class_specific = 0x5678,
                             .transaction = TransactionId(0x0102030405060708),
                             .attribute = 0x0010,
                             .attribute_modifier = 0xA0B0C0D0};

TEST(MadHeaderTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kExample, "01 07 02 03 1234 5678 0102030405060708 0010 0000 a0b0c0d0");
}

TEST(MadHeaderTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return MadHeader{.management_class = static_cast<uint8_t>(random.Next32()),
                     .class_version = static_cast<uint8_t>(random.Next32()),
                     .method = static_cast<uint8_t>(random.Next32()),
                     .status = static_cast<uint16_t>(random.Next32()),
                     .class_specific = static_cast<uint16_t>(random.Next32()),
                     .transaction = TransactionId(random.Next64()),
                     .attribute = static_cast<uint16_t>(random.Next32()),
                     .attribute_modifier = random.Next32()};
  });
}

TEST(MadHeaderTest, RefusesAnotherBaseVersion) {
  auto bytes = Written(kExample);
  bytes[0] = std::byte{2};
  EXPECT_EQ(MadHeader::Parse(bytes), std::nullopt);
}

TEST(MadHeaderTest, IgnoresReservedBits) {
  auto bytes = Written(kExample);
  bytes[18] = bytes[19] = std::byte{0xFF};
  EXPECT_EQ(MadHeader::Parse(bytes), kExample);
}

TEST(MadHeaderTest, HasATextForm) {
  EXPECT_EQ(ToString(kExample),
            "MAD class 0x07, method 0x03, attribute 0x0010, transaction 0x0102030405060708");
}

}  // namespace
}  // namespace verbena::wire
