#include "wire/mad/cm_lap.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmLap Example() {
  return {.local_comm_id = CommId(0x30313233),
          .remote_comm_id = CommId(0x3738393a),
          .remote_qp = QpNumber(0x3e3f40),
          .remote_response_timeout = CmTimeout(23),
          .alternate = ExamplePath(),
          .private_data = CountingData<168>()};
}

TEST(CmLapTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(),
                     "30313233 3738393a 00000000 3e3f40b8 00000000 11002200 fd000000 00000000 "
                     "00000000 00000001 fd000000 00000000 00000000 00000002 abcd0060 40215890");
}

TEST(CmLapTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmLap(random); });
}

TEST(CmLapTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 79); }

TEST(CmLapTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()), "LAP local id 0x30313233, remote id 0x3738393a, QP 0x3e3f40");
}

}  // namespace
}  // namespace verbena::wire
