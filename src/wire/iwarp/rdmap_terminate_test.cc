#include "wire/iwarp/rdmap_terminate.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr DdpTagged kTagged{.control = {.tagged = true, .opcode = RdmapOpcode::kWrite},
                            .stag = Key(0x01020304),
                            .offset = KeyAddress(0x1112131415161718)};
constexpr DdpUntagged kUntagged{.control = {.last = true, .opcode = RdmapOpcode::kReadRequest},
                                .queue = DdpQueue::kReadRequest,
                                .msn = DdpMsn(9)};
constexpr RdmapReadRequest kRead{.size = 7, .source_stag = Key(0x31323334)};

std::vector<std::byte> BytesOf(const RdmapTerminate& terminate) {
  std::vector<std::byte> bytes(terminate.size(), std::byte{0xFF});
  terminate.Serialize(bytes);
  return bytes;
}

void ExpectMessage(const RdmapTerminate& terminate, const char* hex) {
  const auto bytes = BytesOf(terminate);
  EXPECT_EQ(bytes, FromHex(hex));
  EXPECT_EQ(RdmapTerminate::Parse(bytes), terminate);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(RdmapTerminate::Parse(std::span(bytes).first(size)), std::nullopt) << size;
  }
}

TEST(RdmapTerminateTest, HasTheBytesOfTheSpecificationWithoutHeaders) {
  ExpectMessage({.code = TerminateCode::kMpaCrc}, "20020000");
}

TEST(RdmapTerminateTest, HasTheHeaderOfATaggedSegment) {
  ExpectMessage(
      {.code = TerminateCode::kDdpTaggedBounds, .segment_length = 0x1234, .header = kTagged},
      "1101c000 1234 8140 01020304 1112131415161718");
}

TEST(RdmapTerminateTest, HasTheHeadersOfAReadRequest) {
  ExpectMessage({.code = TerminateCode::kRdmapInvalidStag,
                 .segment_length = 46,
                 .header = kUntagged,
                 .read_request = kRead},
                "0100e000 002e 4141 00000000 00000001 00000009 00000000"
                "00000000 0000000000000000 00000007 31323334 0000000000000000");
}

TEST(RdmapTerminateTest, IsNoLongerThanItsMaximum) {
  const RdmapTerminate longest{
      .code = {}, .segment_length = 1, .header = kUntagged, .read_request = kRead};
  EXPECT_EQ(longest.size(), RdmapTerminate::kSizeMax);
}

TEST(RdmapTerminateTest, IgnoresReservedBits) {
  EXPECT_EQ(RdmapTerminate::Parse(FromHex("20021fff")),
            RdmapTerminate{.code = TerminateCode::kMpaCrc});
}

TEST(RdmapTerminateTest, HasATextForm) {
  EXPECT_EQ(ToString(RdmapTerminate{.code = TerminateCode::kMpaCrc}),
            "terminate 0x2002 (MPA: CRC error)");
  EXPECT_EQ(ToString(RdmapTerminate{
                .code = TerminateCode::kDdpTaggedBounds, .segment_length = 20, .header = kTagged}),
            "terminate 0x1101 (DDP: base or bounds violation), segment of 20 bytes: RDMA Write, "
            "tagged, STag 0x01020304, offset 0x1112131415161718");
  EXPECT_EQ(
      ToString(RdmapTerminate{
          .code = TerminateCode::kRdmapInvalidStag, .header = kUntagged, .read_request = kRead}),
      "terminate 0x0100 (RDMAP: invalid STag): RDMA Read Request, untagged, last, queue 1, "
      "MSN 9, offset 0; read 7 bytes, source 0x31323334 at 0x0000000000000000, sink "
      "0x00000000 at 0x0000000000000000");
}

}  // namespace
}  // namespace verbena::wire
