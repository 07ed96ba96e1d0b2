#include "wire/mad/cm_rej.h"

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

CmRej Example() {
  return {.local_comm_id = CommId(0x30313233),
          .remote_comm_id = CommId(0x3738393a),
          .rejected = CmSubject::kRep,
          .info_length = 72,
          .reason = CmRejectReason::kConsumer,
          .info = CountingData<72>(),
          .private_data = CountingData<148>()};
}

TEST(CmRejTest, HasTheBytesOfTheSpecification) {
  ExpectMessageBytes(Example(), "30313233 3738393a 4090001c");
}

TEST(CmRejTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawCmRej(random); });
}

TEST(CmRejTest, IgnoresReservedBits) { EXPECT_EQ(ReservedBitsOf(Example()), 7); }

TEST(CmRejTest, RefusesAReservedSubject) {
  auto bytes = Written(Example());
  bytes[8] = std::byte{0xC0};
  EXPECT_EQ(CmRej::Parse(bytes), std::nullopt);
}

TEST(CmRejTest, RefusesAnInfoLengthBeyondTheField) {
  auto bytes = Written(Example());
  bytes[9] = std::byte{146};
  EXPECT_EQ(CmRej::Parse(bytes), std::nullopt);
}

TEST(CmRejTest, HasATextForm) {
  EXPECT_EQ(ToString(Example()),
            "REJ local id 0x30313233, remote id 0x3738393a, of REP, reason consumer reject");
}

}  // namespace
}  // namespace verbena::wire
