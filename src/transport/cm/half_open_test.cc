#include "transport/cm/half_open.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using wire::CommId;

const IpAddress kBusy = IpAddress::FromIpv4(10, 0, 0, 1);
const IpAddress kOther = IpAddress::FromIpv4(10, 0, 0, 2);

TEST(HalfOpenTest, TheOldestOfTheBusiestSourceGivesWay) {
  HalfOpen half_open;
  EXPECT_EQ(half_open.FindVictimFor(kOther), std::nullopt);
  for (uint32_t id = 1; id <= 3; ++id) half_open.Add(CommId(id), kBusy);
  EXPECT_EQ(half_open.FindVictimFor(kOther), CommId(1));
  half_open.Add(CommId(9), kOther);
  EXPECT_EQ(half_open.FindVictimFor(kOther), CommId(1));
  half_open.Remove(CommId(1));
  EXPECT_TRUE(half_open.IsConsistent());
  EXPECT_EQ(half_open.FindVictimFor(kOther), std::nullopt) << "two against one";
  EXPECT_EQ(half_open.FindVictimFor(IpAddress::FromIpv4(10, 0, 0, 3)), CommId(2));
}

TEST(HalfOpenTest, ASourceNeverGivesWayToItself) {
  HalfOpen half_open;
  for (uint32_t id = 1; id <= 100; ++id) half_open.Add(CommId(id), kBusy);
  EXPECT_EQ(half_open.FindVictimFor(kBusy), std::nullopt);
}

TEST(HalfOpenTest, NothingIsLeftOfASourceWithoutConnections) {
  HalfOpen half_open;
  half_open.Add(CommId(1), kBusy);
  half_open.Add(CommId(2), kBusy);
  half_open.Remove(CommId(2));
  half_open.Remove(CommId(1));
  EXPECT_EQ(half_open.size(), 0u);
  EXPECT_TRUE(half_open.IsConsistent());
  EXPECT_EQ(half_open.FindVictimFor(kOther), std::nullopt);
}

}  // namespace
}  // namespace verbena::transport
