#include "verbena/serial_number.h"

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace verbena
