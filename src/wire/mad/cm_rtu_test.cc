#include "wire/mad/cm_rtu.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmRtu Example() {
  return {.local_comm_id = CommId(0x30313233),
          .remote_comm_id = CommId(0x3738393a),
          .private_data = CountingData<224>()};
}

TEST(CmRtuTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(), "30313233 3738393a");
}

TEST(CmRtuTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmRtu(random); });
}

TEST(CmRtuTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 0); }

TEST(CmRtuTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()), "RTU local id 0x30313233, remote id 0x3738393a");
}

}  // namespace
}  // namespace verbena::wire
