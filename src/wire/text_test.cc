#include "wire/text.h"

#include <gtest/gtest.h>

namespace verbena::wire {
namespace {

TEST(HexTest, PadsToTheWidthOfTheField) {
  EXPECT_EQ(Hex(0, 2), "0x00");
  EXPECT_EQ(Hex(0xAB, 6), "0x0000ab");
  EXPECT_EQ(Hex(0x0123456789ABCDEF, 16), "0x0123456789abcdef");
  EXPECT_EQ(Hex(1, 18), "0x000000000000000001");
}

TEST(HexTest, TruncatesToTheGivenDigits) { EXPECT_EQ(Hex(0xFF0012, 4), "0x0012"); }

}  // namespace
}  // namespace verbena::wire
