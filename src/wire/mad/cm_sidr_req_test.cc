#include "wire/mad/cm_sidr_req.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmSidrReq Example() {
  return {.request_id = SidrRequestId(0x30313233),
          .p_key = PKey(0x3738),
          .service_id = ServiceId(0x3c3d3e3f40414243),
          .private_data = CountingData<216>()};
}

TEST(CmSidrReqTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(), "30313233 37380000 3c3d3e3f 40414243");
}

TEST(CmSidrReqTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmSidrReq(random); });
}

TEST(CmSidrReqTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 16); }

TEST(CmSidrReqTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()), "SIDR_REQ request 0x30313233, service 0x3c3d3e3f40414243");
}

}  // namespace
}  // namespace verbena::wire
