#include "wire/roce/rdeth.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr Rdeth kExample{.ee_context = EeContext(0xABCDEF)};

TEST(RdethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kExample, "00 abcdef"); }

TEST(RdethTest, ComesBackAsItWasWritten) {
  ExpectRoundTrips(
      [](Random& random) { return Rdeth{.ee_context = EeContext(random.Next32() & kMax24)}; });
}

TEST(RdethTest, IgnoresReservedBits) { EXPECT_EQ(Rdeth::Parse(FromHex("ffabcdef")), kExample); }

TEST(RdethTest, SaysWhatItHolds) { EXPECT_EQ(ToString(kExample), "RDETH EE-Context 0xabcdef"); }

}  // namespace
}  // namespace verbena::wire
