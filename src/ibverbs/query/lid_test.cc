#include "ibverbs/query/lid.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

GidEntry Entry(const char* address, bool loopback = false) {
  return {.gid = *ParseGid(address),
          .interface_name = "eth0",
          .interface_index = 2,
          .mtu = 1'500,
          .up = true,
          .loopback = loopback};
}

TEST(LidTest, BelongsToTheFirstIpv4AddressOfTheNetwork) {
  const std::vector<GidEntry> present = {Entry("fd00::1"), Entry("127.0.0.1", true),
                                         Entry("10.1.2.3"), Entry("10.9.9.9")};
  EXPECT_EQ(LidOwner(present)->gid, *ParseGid("10.1.2.3"));
}

TEST(LidTest, BelongsToLoopbackIfThereIsNoOther) {
  const std::vector<GidEntry> present = {Entry("fd00::1"), Entry("127.0.0.1", true)};
  EXPECT_EQ(LidOwner(present)->gid, *ParseGid("127.0.0.1"));
  EXPECT_EQ(LidOf(*ParseGid("127.0.0.1")), 1U);
}

TEST(LidTest, HasNoOwnerWithoutIpv4) {
  EXPECT_FALSE(LidOwner(std::vector{Entry("fd00::1")}).has_value());
  EXPECT_FALSE(LidOwner({}).has_value());
}

TEST(LidTest, IsTheLowHalfOfTheAddress) { EXPECT_EQ(LidOf(*ParseGid("192.168.17.34")), 0x1122U); }

TEST(LidTest, FindsItsOwnerAndTheNeighbours) {
  const Gid own = *ParseGid("10.1.2.3");
  EXPECT_EQ(GidOfLid(LidOf(own), own), own);
  EXPECT_EQ(GidOfLid(0x0304, own), *ParseGid("10.1.3.4"));
}

}  // namespace
}  // namespace verbena::ibverbs
