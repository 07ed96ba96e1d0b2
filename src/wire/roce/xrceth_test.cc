#include "wire/roce/xrceth.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr Xrceth kExample{.srq = SrqNumber(0x000102)};

TEST(XrcethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kExample, "00 000102"); }

TEST(XrcethTest, ComesBackAsItWasWritten) {
  ExpectRoundTrips(
      [](Random& random) { return Xrceth{.srq = SrqNumber(random.Next32() & kMax24)}; });
}

TEST(XrcethTest, IgnoresReservedBits) { EXPECT_EQ(Xrceth::Parse(FromHex("ff000102")), kExample); }

TEST(XrcethTest, SaysWhatItHolds) { EXPECT_EQ(ToString(kExample), "XRCETH SRQ 0x000102"); }

}  // namespace
}  // namespace verbena::wire
