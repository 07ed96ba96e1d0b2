#include "wire/iwarp/ddp_session.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

TEST(DdpSessionControlTest, HasTheBytesOfTheDiagram) {
  ExpectBytes(DdpSequence{.ssn = DdpSsn(0x1234)}, "1234");
  ExpectBytes(DdpSessionControl{.ssn = DdpSsn(0x1234), .function = DdpFunction::kAccept},
              "1234 0002");
}

TEST(DdpSessionControlTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return DdpSessionControl{.ssn = DdpSsn(static_cast<uint32_t>(random.Below(65'536))),
                             .function = static_cast<DdpFunction>(1 + random.Below(7))};
  });
}

TEST(DdpSessionControlTest, RefusesUnknownFunctions) {
  for (const uint8_t code : {uint8_t{0}, uint8_t{8}, uint8_t{255}}) {
    auto bytes = Written(DdpSessionControl{.function = DdpFunction::kInitiate});
    bytes[3] = std::byte{code};
    EXPECT_EQ(DdpSessionControl::Parse(bytes), std::nullopt) << int{code};
  }
}

TEST(DdpSessionControlTest, HasATextForm) {
  EXPECT_EQ(ToString(DdpSequence{.ssn = DdpSsn(7)}), "DDP-SSN 7");
  EXPECT_EQ(ToString(DdpSessionControl{.ssn = DdpSsn(7), .function = DdpFunction::kTerminate}),
            "session Terminate, DDP-SSN 7");
}

}  // namespace
}  // namespace verbena::wire
