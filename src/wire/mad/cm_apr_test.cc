#include "wire/mad/cm_apr.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmApr Example() {
  return {.local_comm_id = CommId(0x30313233),
          .remote_comm_id = CommId(0x3738393a),
          .info_length = 0x48,
          .status = CmAprStatus::kUnsupported,
          .info = CountingData<72>(),
          .private_data = CountingData<148>()};
}

TEST(CmAprTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(), "30313233 3738393a 48020000");
}

TEST(CmAprTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmApr(random); });
}

TEST(CmAprTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 16); }

TEST(CmAprTest, RefusesAnInfoLengthBeyondTheField) {
  auto bytes = Written(Example());
  bytes[8] = std::byte{73};
  EXPECT_EQ(CmApr::Parse(bytes), std::nullopt);
}

TEST(CmAprTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()), "APR local id 0x30313233, remote id 0x3738393a, status 2");
}

}  // namespace
}  // namespace verbena::wire
