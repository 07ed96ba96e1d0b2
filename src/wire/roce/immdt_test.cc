#include "wire/roce/immdt.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr ImmDt kExample{.data = 0xDEADBEEF};

TEST(ImmDtTest, HasTheBytesOfTheSpecification) { ExpectBytes(kExample, "deadbeef"); }

TEST(ImmDtTest, ComesBackAsItWasWritten) {
  ExpectRoundTrips([](Random& random) { return ImmDt{.data = random.Next32()}; });
}

TEST(ImmDtTest, SaysWhatItHolds) { EXPECT_EQ(ToString(kExample), "ImmDt 0xdeadbeef"); }

}  // namespace
}  // namespace verbena::wire
