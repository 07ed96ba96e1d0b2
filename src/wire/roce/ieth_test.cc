#include "wire/roce/ieth.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr Ieth kExample{.r_key = Key(0x00010203)};

TEST(IethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kExample, "00010203"); }

TEST(IethTest, ComesBackAsItWasWritten) {
  ExpectRoundTrips([](Random& random) { return Ieth{.r_key = Key(random.Next32())}; });
}

TEST(IethTest, SaysWhatItHolds) { EXPECT_EQ(ToString(kExample), "IETH R_Key 0x00010203"); }

}  // namespace
}  // namespace verbena::wire
