#include "wire/mad/cm_req.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmReq Example() {
  return {.local_comm_id = CommId(0x30313233),
          .ece = {.vendor_id = 0x343536},
          .service_id = ServiceId(0x3738393a3b3c3d3e),
          .local_ca_guid = CaGuid(0x4243444546474849),
          .local_q_key = QKey(0x4d4e4f50),
          .local_qp = QpNumber(0x545556),
          .responder_resources = 0x5a,
          .local_eecn = EeContext(0x5e5f60),
          .initiator_depth = 0x64,
          .remote_eecn = EeContext(0x68696a),
          .remote_response_timeout = CmTimeout(23),
          .service_type = CmServiceType::kExtended,
          .flow_control = true,
          .starting_psn = Psn(0x6e6f70),
          .local_response_timeout = CmTimeout(23),
          .retry_count = 5,
          .p_key = PKey(0x7475),
          .path_mtu = CmMtu(11),
          .rdc_exists = true,
          .rnr_retry_count = 5,
          .max_cm_retries = 11,
          .srq = true,
          .extended_transport = 5,
          .primary = ExamplePath(),
          .alternate = {.local_lid = Lid(0x1101),
                        .remote_lid = Lid(0x2201),
                        .local_gid = {{0xFD, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                        .remote_gid = {{0xFD, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}},
                        .flow_label = 0xabcd1,
                        .packet_rate = 0x22,
                        .traffic_class = 0x61,
                        .hop_limit = 0x41,
                        .sl = 6,
                        .subnet_local = true,
                        .ack_timeout = AckTimeout(19)},
          .private_data = CountingData<92>()};
}

TEST(CmReqTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(),
                     "30313233 00343536 3738393a 3b3c3d3e 42434445 46474849 00000000 4d4e4f50 "
                     "5455565a 5e5f6064 68696abf 6e6f70bd 7475bdbd 11002200 fd000000 00000000 "
                     "00000000 00000001 fd000000 00000000 00000000 00000002 abcd0021 60405890 "
                     "11012201 fd010000 00000000 00000000 00000001 fd010000 00000000 00000000 "
                     "00000002 abcd1022 61416898");
}

TEST(CmReqTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmReq(random); });
}

TEST(CmReqTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 64); }

TEST(CmReqTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()),
            "REQ local id 0x30313233, service 0x3738393a3b3c3d3e, QP 0x545556, PSN 0x6e6f70");
}

}  // namespace
}  // namespace verbena::wire
