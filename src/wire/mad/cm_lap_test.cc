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
          .alternate = {.local_lid = Lid(0x1100),
                        .remote_lid = Lid(0x2200),
                        .local_gid = {{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                        .remote_gid = {{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}},
                        .flow_label = 0xabcd0,
                        .packet_rate = 0x21,
                        .traffic_class = 0x60,
                        .hop_limit = 0x40,
                        .sl = 5,
                        .subnet_local = true,
                        .ack_timeout = AckTimeout(18)},
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
