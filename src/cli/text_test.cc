#include "cli/text.h"

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

TEST(TextTest, FormatsLikePrintf) {
  EXPECT_EQ(Text("%d of %s", 3, "four"), "3 of four");
  EXPECT_EQ(Text("%s", std::string(5'000, 'x').c_str()), std::string(5'000, 'x'));
}

TEST(TextTest, BytesHaveTheUnitThatLeavesAWholePart) {
  EXPECT_EQ(BytesText(0), "0 bytes");
  EXPECT_EQ(BytesText(64), "64 bytes");
  EXPECT_EQ(BytesText(1'023), "1023 bytes");
  EXPECT_EQ(BytesText(1'536), "1.5 KiB");
  EXPECT_EQ(BytesText(1 << 20), "1 MiB");
  EXPECT_EQ(BytesText(1e18), "9.095e+05 TiB");
}

TEST(TextTest, CountsHaveThreeDigits) {
  EXPECT_EQ(CountText(17), "17");
  EXPECT_EQ(CountText(309'700), "310 k");
  EXPECT_EQ(CountText(1'250'000), "1.25 M");
}

}  // namespace
}  // namespace verbena::cli
