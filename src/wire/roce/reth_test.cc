#include "wire/roce/reth.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr Reth kExample{
    .address = KeyAddress(0x0102030405060708), .r_key = Key(0xCAFEF00D), .dma_length = 0x80000000};

TEST(RethTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kExample, "0102030405060708 cafef00d 80000000");
}

TEST(RethTest, ComesBackAsItWasWritten) {
  ExpectRoundTrips([](Random& random) {
    return Reth{.address = KeyAddress(random.Next64()),
                .r_key = Key(random.Next32()),
                .dma_length = random.Next32()};
  });
}

TEST(RethTest, SaysWhatItHolds) {
  EXPECT_EQ(ToString(kExample),
            "RETH address 0x0102030405060708, R_Key 0xcafef00d, length 2147483648");
}

}  // namespace
}  // namespace verbena::wire
