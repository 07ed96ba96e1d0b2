#include "wire/roce/atomic_ack_eth.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr AtomicAckEth kExample{.original = 0x1020304050607080};

TEST(AtomicAckEthTest, HasTheBytesOfTheSpecification) { ExpectBytes(kExample, "1020304050607080"); }

TEST(AtomicAckEthTest, ComesBackAsItWasWritten) {
  ExpectRoundTrips([](Random& random) { return AtomicAckEth{.original = random.Next64()}; });
}

TEST(AtomicAckEthTest, SaysWhatItHolds) {
  EXPECT_EQ(ToString(kExample), "AtomicAckETH original 0x1020304050607080");
}

}  // namespace
}  // namespace verbena::wire
