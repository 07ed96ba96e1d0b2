#include "wire/roce/deth.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr Deth kExample{.q_key = QKey(0x80010000), .source_qp = QpNumber(0x123456)};

TEST(DethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kExample, "80010000 00 123456"); }

TEST(DethTest, ComesBackAsItWasWritten) {
  ExpectRoundTrips([](Random& random) {
    return Deth{.q_key = QKey(random.Next32()), .source_qp = QpNumber(random.Next32() & kMax24)};
  });
}

TEST(DethTest, IgnoresReservedBits) {
  EXPECT_EQ(Deth::Parse(FromHex("80010000ff123456")), kExample);
}

TEST(DethTest, SaysWhatItHolds) {
  EXPECT_EQ(ToString(kExample), "DETH Q_Key 0x80010000, source QP 0x123456");
}

}  // namespace
}  // namespace verbena::wire
