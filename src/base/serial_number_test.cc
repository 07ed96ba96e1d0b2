#include "base/serial_number.h"

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena {
namespace {

using Serial4 = SerialNumber<struct Tag4, 4>;
using Serial24 = SerialNumber<struct Tag24, 24>;
using Serial32 = SerialNumber<struct Tag32, 32>;

template <class T>
concept Ordered = requires(T a, T b) {
  a < b;
};
static_assert(!Ordered<Serial24>);
static_assert(Ordered<Unwrapper<Serial24>::Unwrapped>);
static_assert(!std::is_convertible_v<uint32_t, Serial24>);
static_assert(!std::equality_comparable_with<Serial24, Serial32>);

TEST(SerialNumberTest, MasksItsValue) {
  EXPECT_EQ(Serial24(0xAB123456).value(), 0x123456u);
  EXPECT_EQ(Serial32(0xFFFFFFFF).value(), 0xFFFFFFFFu);
  EXPECT_EQ(Serial24().value(), 0u);
}

TEST(SerialNumberTest, CountsRound) {
  Serial24 serial(0xFFFFFE);
  EXPECT_EQ((++serial).value(), 0xFFFFFFu);
  EXPECT_EQ((serial++).value(), 0xFFFFFFu);
  EXPECT_EQ(serial.value(), 0u);
  EXPECT_EQ(serial - 1, Serial24(0xFFFFFF));
  EXPECT_EQ(serial + 0x1000005, Serial24(5));
  EXPECT_EQ(Serial32(3) - 5, Serial32(0xFFFFFFFE));
}

TEST(SerialNumberTest, DistanceIsTheShortestWay) {
  EXPECT_EQ(Distance(Serial24(5), Serial24(5)), 0);
  EXPECT_EQ(Distance(Serial24(0xFFFFFF), Serial24(1)), 2);
  EXPECT_EQ(Distance(Serial24(1), Serial24(0xFFFFFF)), -2);
  EXPECT_EQ(Distance(Serial24(0), Serial24(0x7FFFFF)), 0x7FFFFF);
  EXPECT_EQ(Distance(Serial24(0), Serial24(0x800000)), -0x800000);
  EXPECT_EQ(Distance(Serial32(0xFFFFFFFF), Serial32(0)), 1);
  EXPECT_EQ(Distance(Serial32(0), Serial32(0x80000000)), INT32_MIN);
}

// Small enough to try all pairs: walk from `a` and see which way reaches `b` first.
TEST(SerialNumberTest, AllPairsOfFourBits) {
  for (uint32_t a = 0; a < 16; ++a) {
    for (uint32_t b = 0; b < 16; ++b) {
      int32_t ahead = 0;
      while ((a + static_cast<uint32_t>(ahead)) % 16 != b) ++ahead;
      const int32_t expected = ahead < 8 ? ahead : ahead - 16;
      EXPECT_EQ(Distance(Serial4(a), Serial4(b)), expected) << a << " to " << b;
      EXPECT_EQ(IsBefore(Serial4(a), Serial4(b)), expected > 0) << a << " to " << b;
    }
  }
}

TEST(SerialNumberTest, HalfACircleApartIsInNeitherOrder) {
  EXPECT_FALSE(IsBefore(Serial24(0), Serial24(0x800000)));
  EXPECT_FALSE(IsBefore(Serial24(0x800000), Serial24(0)));
}

TEST(UnwrapperTest, FollowsTheSequenceRound) {
  Unwrapper<Serial4> unwrapper(Serial4(14));
  const uint64_t start = unwrapper.newest().value();
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(unwrapper.Unwrap(Serial4(14 + i)).value(), start + i);
  }
}

TEST(UnwrapperTest, PlacesLateOnesBehind) {
  Unwrapper<Serial24> unwrapper(Serial24(0));
  const auto late = unwrapper.Unwrap(Serial24(0xFFFFFF));
  const auto start = unwrapper.Unwrap(Serial24(0));
  EXPECT_EQ(late.value() + 1, start.value());
  EXPECT_EQ(unwrapper.newest(), start);
}

TEST(UnwrapperTest, EarliestLateOneIsNotBelowZero) {
  Unwrapper<Serial32> unwrapper(Serial32(0));
  EXPECT_EQ(unwrapper.Unwrap(Serial32(0x80000000)).value(), uint64_t{0x80000000});
}

TEST(UnwrapperTest, PeekRemembersNothing) {
  Unwrapper<Serial4> unwrapper(Serial4(0));
  const auto peeked = unwrapper.Peek(Serial4(7));
  EXPECT_EQ(unwrapper.newest().value() + 7, peeked.value());
  // Had 7 been remembered, 12 would lie ahead of it.
  EXPECT_LT(unwrapper.Peek(Serial4(12)), unwrapper.newest());
}

TEST(UnwrapperTest, WrapsBack) {
  Unwrapper<Serial24> unwrapper(Serial24(0xFFFFF0));
  for (uint32_t i = 0; i < 32; ++i) {
    const Serial24 serial = Serial24(0xFFFFF0) + i;
    EXPECT_EQ(Unwrapper<Serial24>::Wrap(unwrapper.Unwrap(serial)), serial);
  }
}

// A sender counts up in 64 bits, the network reorders within less than half a circle.
TEST(UnwrapperTest, RecoversTheTrueNumberUnderReordering) {
  Random random(7);
  Unwrapper<Serial4> unwrapper(Serial4(0));
  const uint64_t offset = unwrapper.newest().value();
  uint64_t newest = 8;
  unwrapper.Unwrap(Serial4(7));
  unwrapper.Unwrap(Serial4(8));
  for (int i = 0; i < 2000; ++i) {
    const uint64_t sent = random.Between(newest - 8, newest + 7);
    ASSERT_EQ(unwrapper.Unwrap(Serial4(static_cast<uint32_t>(sent))).value(), offset + sent);
    if (sent > newest) newest = sent;
  }
  EXPECT_GT(newest, 1000u);
}

}  // namespace
}  // namespace verbena
