#include "wire/mad/cm_sidr_rep.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmSidrRep Example() {
  return {.request_id = SidrRequestId(0x30313233),
          .status = CmSidrStatus::kNoQp,
          .info_length = 0x48,
          .qp = QpNumber(0x3b3c3d),
          .service_id = ServiceId(0x4142434445464748),
          .q_key = QKey(0x4c4d4e4f),
          .info = CountingData<72>(),
          .private_data = CountingData<136>()};
}

TEST(CmSidrRepTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(), "30313233 03480000 3b3c3d00 41424344 45464748 4c4d4e4f");
}

TEST(CmSidrRepTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmSidrRep(random); });
}

TEST(CmSidrRepTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 24); }

TEST(CmSidrRepTest, RefusesAnInfoLengthBeyondTheField) {
  auto bytes = Written(Example());
  bytes[5] = std::byte{73};
  EXPECT_EQ(CmSidrRep::Parse(bytes), std::nullopt);
}

TEST(CmSidrRepTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()), "SIDR_REP request 0x30313233, status 3, QP 0x3b3c3d");
}

}  // namespace
}  // namespace verbena::wire
