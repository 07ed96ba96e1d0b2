#include "wire/tag_header.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr TagHeader kTag{
    .operation = TagOpcode::kEager, .context = 0x01020304, .tag = 0x1112131415161718};
constexpr RendezvousHeader kPlace{
    .address = 0x2122232425262728, .r_key = 0x31323334, .length = 0x41424344};

TEST(TagHeaderTest, HasTheBytesOfTheVerbs) {
  ExpectBytes(kTag, "03000000 01020304 1112131415161718");
  ExpectBytes(kPlace, "2122232425262728 31323334 41424344");
}

TEST(TagHeaderTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return TagHeader{.operation = static_cast<TagOpcode>(random.Below(4)),
                     .context = random.Next32(),
                     .tag = random.Next64()};
  });
  ExpectRoundTrips([](Random& random) {
    return RendezvousHeader{
        .address = random.Next64(), .r_key = random.Next32(), .length = random.Next32()};
  });
}

TEST(TagHeaderTest, HasATextForm) {
  EXPECT_EQ(ToString(kTag), "TMH eager, tag 0x1112131415161718, context 0x01020304");
  EXPECT_EQ(ToString(TagHeader{.operation = static_cast<TagOpcode>(9)}),
            "TMH unknown, tag 0x0000000000000000, context 0x00000000");
  EXPECT_EQ(ToString(kPlace),
            "RVH address 0x2122232425262728, R_Key 0x31323334, length 1094861636");
}

}  // namespace
}  // namespace verbena::wire
