#include <unordered_set>

#include <gtest/gtest.h>

#include "verbena/numbers.h"

namespace verbena::memory {
namespace {

TEST(KeyTest, IsIndexAndVariant) {
  const Key key(KeyIndex(0x123456), KeyVariant(0x78));
  EXPECT_EQ(key.value(), 0x12345678u);
  EXPECT_EQ(key.index(), KeyIndex(0x123456));
  EXPECT_EQ(key.variant(), KeyVariant(0x78));
}

TEST(KeyTest, SplitsExtremeValues) {
  const Key highest(KeyIndex(kKeyIndexCount - 1), KeyVariant(0));
  EXPECT_EQ(highest.value(), 0xffffff00u);
  EXPECT_EQ(Key(UINT32_MAX).index(), KeyIndex(kKeyIndexCount - 1));
  EXPECT_EQ(Key(UINT32_MAX).variant(), KeyVariant(255));
  EXPECT_EQ(Key(KeyIndex(1), KeyVariant(255)).value(), 0x1ffu);
}

TEST(KeyTest, TheDefaultIsZero) { EXPECT_EQ(Key().value(), 0u); }

TEST(KeyTest, KeysOfOneIndexDifferByVariant) {
  const KeyIndex index(7);
  EXPECT_NE(Key(index, KeyVariant(1)), Key(index, KeyVariant(2)));
  EXPECT_EQ(Key(index, KeyVariant(1)).index(), Key(index, KeyVariant(2)).index());
}

TEST(KeyTest, CanBeHashed) {
  const std::unordered_set<Key> keys = {Key(1), Key(2), Key(1)};
  EXPECT_EQ(keys.size(), 2u);
}

}  // namespace
}  // namespace verbena::memory
