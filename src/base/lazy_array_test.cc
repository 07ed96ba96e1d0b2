#include "base/lazy_array.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(LazyArray, BeginsAsZeroWhateverItsSize) {
  LazyArray<uint64_t> array(uint64_t{1} << 36);  // 512 GiB if all of it were touched
  EXPECT_EQ(array[0], 0u);
  EXPECT_EQ(array[array.size() - 1], 0u);
  array[5] = 7;
  EXPECT_EQ(array[5], 7u);
}

TEST(LazyArrayDeathTest, KnowsItsEnd) {
  LazyArray<uint64_t> array(4);
  EXPECT_DEATH(array[4] = 1, "CHECK");
}

}  // namespace
}  // namespace verbena
