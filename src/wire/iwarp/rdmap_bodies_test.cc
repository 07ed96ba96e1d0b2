// The bodies of RDMAP messages of fixed length.

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"
#include "wire/iwarp/rdmap_atomic.h"
#include "wire/iwarp/rdmap_immediate.h"
#include "wire/iwarp/rdmap_read_request.h"

namespace verbena::wire {
namespace {

constexpr RdmapReadRequest kReadRequest{.sink_stag = Key(0x01020304),
                                        .sink_offset = KeyAddress(0x1112131415161718),
                                        .size = 0x21222324,
                                        .source_stag = Key(0x31323334),
                                        .source_offset = KeyAddress(0x4142434445464748)};

TEST(RdmapReadRequestTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kReadRequest, "01020304 1112131415161718 21222324 31323334 4142434445464748");
}

TEST(RdmapReadRequestTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return RdmapReadRequest{.sink_stag = Key(random.Next32()),
                            .sink_offset = KeyAddress(random.Next64()),
                            .size = random.Next32(),
                            .source_stag = Key(random.Next32()),
                            .source_offset = KeyAddress(random.Next64())};
  });
}

TEST(RdmapReadRequestTest, HasATextForm) {
  EXPECT_EQ(ToString(kReadRequest),
            "read 555885348 bytes, source 0x31323334 at 0x4142434445464748, sink 0x01020304 at "
            "0x1112131415161718");
}

TEST(RdmapImmediateTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(RdmapImmediate{.data = 0x0102030400000000}, "0102030400000000");
}

TEST(RdmapImmediateTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return RdmapImmediate{.data = random.Next64()}; });
}

TEST(RdmapImmediateTest, HasATextForm) {
  EXPECT_EQ(ToString(RdmapImmediate{.data = 7}), "immediate 0x0000000000000007");
}

constexpr RdmapAtomicRequest kCompareSwap{.opcode = RdmapAtomicOpcode::kCompareSwap,
                                          .id = AtomicRequestId(0x01020304),
                                          .stag = Key(0x11121314),
                                          .offset = KeyAddress(0x2122232425262728),
                                          .add_or_swap = 0x3132333435363738,
                                          .add_or_swap_mask = 0x4142434445464748,
                                          .compare = 0x5152535455565758,
                                          .compare_mask = 0x6162636465666768};

TEST(RdmapAtomicRequestTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kCompareSwap,
              "00000002 01020304 11121314 2122232425262728 3132333435363738 4142434445464748"
              "5152535455565758 6162636465666768");
}

TEST(RdmapAtomicRequestTest, IgnoresReservedBits) {
  auto bytes = Written(kCompareSwap);
  for (const size_t i : {0U, 1U, 2U}) bytes[i] = std::byte{0xFF};
  bytes[3] |= std::byte{0xF0};
  EXPECT_EQ(RdmapAtomicRequest::Parse(bytes), kCompareSwap);
}

TEST(RdmapAtomicRequestTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return RdmapAtomicRequest{.opcode = static_cast<RdmapAtomicOpcode>(random.Below(16)),
                              .id = AtomicRequestId(random.Next32()),
                              .stag = Key(random.Next32()),
                              .offset = KeyAddress(random.Next64()),
                              .add_or_swap = random.Next64(),
                              .add_or_swap_mask = random.Next64(),
                              .compare = random.Next64(),
                              .compare_mask = random.Next64()};
  });
}

TEST(RdmapAtomicRequestTest, HasATextForm) {
  EXPECT_EQ(ToString(kCompareSwap),
            "CmpSwap request 16909060, STag 0x11121314, offset 0x2122232425262728, swap "
            "0x3132333435363738 mask 0x4142434445464748, compare 0x5152535455565758 mask "
            "0x6162636465666768");
  EXPECT_EQ(ToString(RdmapAtomicRequest{.add_or_swap = 1}),
            "FetchAdd request 0, STag 0x00000000, offset 0x0000000000000000, add "
            "0x0000000000000001 mask 0x0000000000000000");
}

constexpr RdmapAtomicResponse kAtomicResponse{.id = AtomicRequestId(0x01020304),
                                              .original = 0x1112131415161718};

TEST(RdmapAtomicResponseTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kAtomicResponse, "01020304 1112131415161718");
}

TEST(RdmapAtomicResponseTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return RdmapAtomicResponse{.id = AtomicRequestId(random.Next32()), .original = random.Next64()};
  });
}

TEST(RdmapAtomicResponseTest, HasATextForm) {
  EXPECT_EQ(ToString(kAtomicResponse), "atomic response 16909060, original 0x1112131415161718");
}

}  // namespace
}  // namespace verbena::wire
