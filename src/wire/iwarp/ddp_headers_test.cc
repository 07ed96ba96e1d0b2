// The headers of DDP segments: each has the bytes of the specification, and survives a round trip.

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"
#include "wire/iwarp/ddp_control.h"
#include "wire/iwarp/ddp_tagged.h"
#include "wire/iwarp/ddp_untagged.h"

namespace verbena::wire {
namespace {

DdpControl DrawControl(Random& random, bool tagged) {
  return {.tagged = tagged,
          .last = random.Below(2) == 1,
          .ddp_version = static_cast<uint8_t>(random.Below(4)),
          .rdmap_version = static_cast<uint8_t>(random.Below(4)),
          .opcode = static_cast<RdmapOpcode>(random.Below(16))};
}

TEST(DdpControlTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(DdpControl{.tagged = true, .opcode = RdmapOpcode::kWrite}, "81 40");
  ExpectBytes(DdpControl{.last = true, .opcode = RdmapOpcode::kTerminate}, "41 47");
  ExpectBytes(DdpControl{.ddp_version = 2, .rdmap_version = 3, .opcode = RdmapOpcode::kSend},
              "02 c3");
}

TEST(DdpControlTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return DrawControl(random, random.Below(2) == 1); });
}

TEST(DdpControlTest, IgnoresReservedBits) {
  EXPECT_EQ(DdpControl::Parse(FromHex("bd 70")), DdpControl::Parse(FromHex("81 40")));
}

TEST(DdpControlTest, HasATextForm) {
  EXPECT_EQ(ToString(DdpControl{.tagged = true, .last = true, .opcode = RdmapOpcode::kWrite}),
            "RDMA Write, tagged, last");
  EXPECT_EQ(
      ToString(DdpControl{.ddp_version = 0, .rdmap_version = 2, .opcode = RdmapOpcode::kSend}),
      "Send, untagged, DDP version 0, RDMAP version 2");
}

constexpr DdpTagged kTagged{
    .control = {.tagged = true, .last = true, .opcode = RdmapOpcode::kReadResponse},
    .stag = Key(0x01020304),
    .offset = KeyAddress(0x1122334455667788)};

TEST(DdpTaggedTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kTagged, "c142 01020304 1122334455667788");
}

TEST(DdpTaggedTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return DdpTagged{.control = DrawControl(random, true),
                     .stag = Key(random.Next32()),
                     .offset = KeyAddress(random.Next64())};
  });
}

TEST(DdpTaggedTest, RefusesAnUntaggedSegment) {
  auto bytes = Written(kTagged);
  bytes[0] = std::byte{0x41};
  EXPECT_EQ(DdpTagged::Parse(bytes), std::nullopt);
}

TEST(DdpTaggedTest, HasATextForm) {
  EXPECT_EQ(ToString(kTagged),
            "RDMA Read Response, tagged, last, STag 0x01020304, offset 0x1122334455667788");
}

constexpr DdpUntagged kUntagged{.control = {.last = true, .opcode = RdmapOpcode::kSendInvalidate},
                                .invalidate = Key(0xA1A2A3A4),
                                .queue = DdpQueue::kReadRequest,
                                .msn = DdpMsn(0xFFFFFFFF),
                                .offset = MessageOffset(0x00010000)};

TEST(DdpUntaggedTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kUntagged, "4144 a1a2a3a4 00000001 ffffffff 00010000");
}

TEST(DdpUntaggedTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return DdpUntagged{.control = DrawControl(random, false),
                       .invalidate = Key(random.Next32()),
                       .queue = static_cast<DdpQueue>(random.Next32()),
                       .msn = DdpMsn(random.Next32()),
                       .offset = MessageOffset(random.Next32())};
  });
}

TEST(DdpUntaggedTest, RefusesATaggedSegment) {
  auto bytes = Written(kUntagged);
  bytes[0] = std::byte{0xC1};
  EXPECT_EQ(DdpUntagged::Parse(bytes), std::nullopt);
}

TEST(DdpUntaggedTest, HasATextForm) {
  EXPECT_EQ(ToString(kUntagged),
            "Send with Invalidate, untagged, last, queue 1, MSN 4294967295, offset 65536, "
            "invalidate 0xa1a2a3a4");
}

}  // namespace
}  // namespace verbena::wire
