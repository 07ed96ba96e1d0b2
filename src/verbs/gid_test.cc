#include "verbena/gid.h"

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(GidTest, IsAnAddressOfEitherKind) {
  const auto ipv4 = ParseGid("10.1.2.3");
  ASSERT_TRUE(ipv4.has_value());
  EXPECT_EQ(ipv4->bytes[10], 0xFF);
  EXPECT_EQ(ipv4->bytes[15], 3);
  EXPECT_EQ(ToString(*ipv4), "10.1.2.3");
  EXPECT_EQ(ParseGid("::ffff:10.1.2.3"), ipv4);
  EXPECT_EQ(ToString(*ParseGid("fd00::1")), "fd00::1");
}

TEST(GidTest, RefusesMalformedText) {
  EXPECT_FALSE(ParseGid("").has_value());
  EXPECT_FALSE(ParseGid("10.1.2").has_value());
  EXPECT_FALSE(ParseGid("verbena").has_value());
}

TEST(GidTest, AnMtuHasACode) {
  EXPECT_EQ(BytesOf(PathMtu::k256), 256U);
  EXPECT_EQ(BytesOf(PathMtu::k4096), 4'096U);
}

}  // namespace
}  // namespace verbena
