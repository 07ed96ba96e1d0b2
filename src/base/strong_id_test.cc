#include "verbena/strong_id.h"

#include <cstdint>
#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

namespace verbena {
namespace {

using Color = StrongId<struct ColorTag, uint32_t>;
using Shape = StrongId<struct ShapeTag, uint32_t>;

template <class T>
concept HasArithmetic = requires(T a) {
  a + a;
}
|| requires(T a) { a + 1; }
|| requires(T a) { ++a; };

static_assert(!HasArithmetic<Color>);
static_assert(!std::is_convertible_v<uint32_t, Color>);
static_assert(!std::is_convertible_v<Color, uint32_t>);
static_assert(!std::is_constructible_v<Color, Shape>);
static_assert(!std::is_assignable_v<Color&, Shape>);
static_assert(sizeof(Color) == sizeof(uint32_t) && std::is_trivially_copyable_v<Color>);

TEST(StrongIdTest, DefaultIsZero) { EXPECT_EQ(Color().value(), 0u); }

TEST(StrongIdTest, ComparesLikeItsValue) {
  EXPECT_EQ(Color(7), Color(7));
  EXPECT_NE(Color(7), Color(8));
  EXPECT_LT(Color(7), Color(8));
  EXPECT_GE(Color(0xFFFFFFFF), Color(0));
}

TEST(StrongIdTest, Hashes) {
  const std::unordered_set<Color> colors = {Color(1), Color(2), Color(1)};
  EXPECT_EQ(colors.size(), 2u);
  EXPECT_TRUE(colors.contains(Color(2)));
  EXPECT_FALSE(colors.contains(Color(3)));
}

}  // namespace
}  // namespace verbena
