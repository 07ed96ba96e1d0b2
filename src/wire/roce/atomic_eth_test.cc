#include "wire/roce/atomic_eth.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr AtomicEth kExample{.address = KeyAddress(0xFFFFFFFFFFFFFFF8),
                             .r_key = Key(1),
                             .swap_or_add = 0x1122334455667788,
                             .compare = 0x99AABBCCDDEEFF00};

TEST(AtomicEthTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kExample, "fffffffffffffff8 00000001 1122334455667788 99aabbccddeeff00");
}

TEST(AtomicEthTest, ComesBackAsItWasWritten) {
  ExpectRoundTrips([](Random& random) {
    return AtomicEth{.address = KeyAddress(random.Next64()),
                     .r_key = Key(random.Next32()),
                     .swap_or_add = random.Next64(),
                     .compare = random.Next64()};
  });
}

TEST(AtomicEthTest, SaysWhatItHolds) {
  EXPECT_EQ(ToString(kExample),
            "AtomicETH address 0xfffffffffffffff8, R_Key 0x00000001, swap or add "
            "0x1122334455667788, compare 0x99aabbccddeeff00");
}

}  // namespace
}  // namespace verbena::wire
