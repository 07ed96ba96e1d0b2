#include "wire/mad/bits.h"

#include <gtest/gtest.h>

namespace verbena::wire {
namespace {

TEST(BitsTest, BitZeroIsTheHighest) {
  EXPECT_EQ((BitsOf<0, 5>(0b10110'01'1)), 0b10110);
  EXPECT_EQ((BitsOf<5, 2>(0b10110'01'1)), 0b01);
  EXPECT_EQ((BitsOf<7, 1>(0b10110'01'1)), 1);
  EXPECT_EQ((BitsOf<0, 8>(0xA5)), 0xA5);
}

TEST(BitsTest, PacksFromTheHighestBit) {
  EXPECT_EQ(PackBits({{0b10110, 5}, {0b01, 2}, {1, 1}}), 0b10110011);
  EXPECT_EQ(PackBits({{0b11, 2}}), 0b11000000);
  EXPECT_EQ(PackBits({{0xA5, 8}}), 0xA5);
}

TEST(BitsDeathTest, RefusesAValueThatDoesNotFit) {
  EXPECT_DEATH((void)PackBits({{4, 2}}), "CHECK failed");
  EXPECT_DEATH((void)PackBits({{0, 5}, {0, 4}}), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
