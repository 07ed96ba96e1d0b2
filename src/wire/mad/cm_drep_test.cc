#include "wire/mad/cm_drep.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmDrep Example() {
  return {.local_comm_id = CommId(0x30313233),
          .remote_comm_id = CommId(0x3738393a),
          .private_data = CountingData<224>()};
}

TEST(CmDrepTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(), "30313233 3738393a");
}

TEST(CmDrepTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmDrep(random); });
}

TEST(CmDrepTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 0); }

TEST(CmDrepTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()), "DREP local id 0x30313233, remote id 0x3738393a");
}

}  // namespace
}  // namespace verbena::wire
