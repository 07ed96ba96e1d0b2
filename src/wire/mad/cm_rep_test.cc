#include "wire/mad/cm_rep.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmRep Example() {
  return {.local_comm_id = CommId(0x30313233),
          .remote_comm_id = CommId(0x3738393a),
          .local_q_key = QKey(0x3e3f4041),
          .local_qp = QpNumber(0x454647),
          .ece = {.vendor_id = 0x484e54},
          .local_eecn = EeContext(0x4b4c4d),
          .starting_psn = Psn(0x515253),
          .responder_resources = 0x57,
          .initiator_depth = 0x5b,
          .target_ack_delay = CmTimeout(23),
          .failover = 3,
          .flow_control = true,
          .rnr_retry_count = 5,
          .srq = true,
          .local_ca_guid = CaGuid(0x5f60616263646566),
          .private_data = CountingData<196>()};
}

TEST(CmRepTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(),
                     "30313233 3738393a 3e3f4041 45464748 4b4c4d4e 51525354 575bbfb0 5f606162 "
                     "63646566");
}

TEST(CmRepTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmRep(random); });
}

TEST(CmRepTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 4); }

TEST(CmRepTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()),
            "REP local id 0x30313233, remote id 0x3738393a, QP 0x454647, PSN 0x515253");
}

}  // namespace
}  // namespace verbena::wire
