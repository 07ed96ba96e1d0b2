#include "wire/mad/cm_dreq.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmDreq Example() {
  return {.local_comm_id = CommId(0x30313233),
          .remote_comm_id = CommId(0x3738393a),
          .remote_qp = QpNumber(0x3e3f40),
          .private_data = CountingData<220>()};
}

TEST(CmDreqTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(), "30313233 3738393a 3e3f4000");
}

TEST(CmDreqTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmDreq(random); });
}

TEST(CmDreqTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 8); }

TEST(CmDreqTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()), "DREQ local id 0x30313233, remote id 0x3738393a, QP 0x3e3f40");
}

}  // namespace
}  // namespace verbena::wire
