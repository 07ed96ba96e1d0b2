#include "base/byte_count.h"

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(ByteCountTest, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(ParseByteCount("0"), 0U);
  EXPECT_EQ(ParseByteCount("4096"), 4096U);
  EXPECT_EQ(ParseByteCount("12b"), 12U);
  EXPECT_EQ(ParseByteCount("3k"), 3U << 10);
  EXPECT_EQ(ParseByteCount("64M"), 64U << 20);
  EXPECT_EQ(ParseByteCount("64MB"), 64U << 20);
  EXPECT_EQ(ParseByteCount("64MiB"), 64U << 20);
  EXPECT_EQ(ParseByteCount("2g"), uint64_t{2} << 30);
  EXPECT_EQ(ParseByteCount("1T"), uint64_t{1} << 40);
}

TEST(ByteCountTest, RefusesWhatIsNone) {
  for (const char* text : {"", "M", "-1", "1.5G", "64X", "64Mi", "64MM", "6 4", " 64", "64M "}) {
    EXPECT_EQ(ParseByteCount(text), std::nullopt) << text;
  }
}

TEST(ByteCountTest, RefusesWhatIsTooLarge) {
  EXPECT_EQ(ParseByteCount("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseByteCount("18446744073709551616"), std::nullopt);
  EXPECT_EQ(ParseByteCount("16777215T"), uint64_t{16'777'215} << 40);
  EXPECT_EQ(ParseByteCount("16777216T"), std::nullopt);
}

}  // namespace
}  // namespace verbena
