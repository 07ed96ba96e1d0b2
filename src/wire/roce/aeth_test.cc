#include "wire/roce/aeth.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

const Aeth kExample{.syndrome = Syndrome::RnrNak(RnrTimer(12)), .msn = Msn(0xFFFFFF)};

TEST(AethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kExample, "2c ffffff"); }

TEST(AethTest, ComesBackAsItWasWritten) {
  ExpectRoundTrips([](Random& random) {
    return Aeth{.syndrome = Syndrome::Ack(CreditCode(static_cast<uint8_t>(random.Below(32)))),
                .msn = Msn(random.Next32())};
  });
}

TEST(AethTest, RefusesReservedSyndromes) {
  EXPECT_EQ(Aeth::Parse(FromHex("40000001")), std::nullopt);
  EXPECT_EQ(Aeth::Parse(FromHex("9f000001")), std::nullopt);
  EXPECT_EQ(Aeth::Parse(FromHex("65000001")), std::nullopt);
}

TEST(AethTest, SaysWhatItHolds) {
  EXPECT_EQ(ToString(kExample), "AETH RNR NAK, wait 640 us, MSN 16777215");
}

}  // namespace
}  // namespace verbena::wire
