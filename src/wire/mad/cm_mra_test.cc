#include "wire/mad/cm_mra.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmMra Example() {
  return {.local_comm_id = CommId(0x30313233),
          .remote_comm_id = CommId(0x3738393a),
          .received = CmSubject::kRep,
          .service_timeout = CmTimeout(23),
          .private_data = CountingData<222>()};
}

TEST(CmMraTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(), "30313233 3738393a 40b8");
}

TEST(CmMraTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmMra(random); });
}

TEST(CmMraTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 9); }

TEST(CmMraTest, RefusesAReservedSubject) {
  auto bytes = Written(Example());
  bytes[8] = std::byte{0xC0};
  EXPECT_EQ(CmMra::Parse(bytes), std::nullopt);
}

TEST(CmMraTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()),
            "MRA local id 0x30313233, remote id 0x3738393a, of REP, service timeout 23");
}

}  // namespace
}  // namespace verbena::wire
