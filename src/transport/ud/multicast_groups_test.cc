#include "transport/ud/multicast_groups.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

constexpr IpAddress kGroup{{0xFF, 0x0E, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr IpAddress kIpv4Group = IpAddress::FromIpv4(Ipv4Address(0xE0000001));
constexpr IpAddress kThird{{0xFF, 0x0E, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}};

class MulticastGroupsTest : public testing::Test {
 protected:
  ~MulticastGroupsTest() override { EXPECT_TRUE(groups_.IsConsistent()); }

  std::vector<QpNumber> MembersOf(const IpAddress& group) const {
    const auto members = groups_.MembersOf(group);
    return {members.begin(), members.end()};
  }
  // Attach never returns kNotAttached, so it means success here.
  MulticastError ErrorOfAttach(const IpAddress& group, uint32_t qp) {
    const auto result = groups_.Attach(group, QpNumber(qp));
    return result ? MulticastError::kNotAttached : result.error();
  }

  MulticastGroups groups_{{.groups = 2, .members = 2}};
};

TEST_F(MulticastGroupsTest, MembersAreThoseAttached) {
  EXPECT_TRUE(groups_.Attach(kGroup, QpNumber(7)).has_value());
  EXPECT_TRUE(groups_.Attach(kGroup, QpNumber(5)).has_value());
  EXPECT_TRUE(groups_.Attach(kIpv4Group, QpNumber(5)).has_value());
  EXPECT_EQ(MembersOf(kGroup), (std::vector{QpNumber(7), QpNumber(5)}));
  EXPECT_EQ(MembersOf(kIpv4Group), (std::vector{QpNumber(5)}));
  EXPECT_TRUE(MembersOf(kThird).empty());
}

TEST_F(MulticastGroupsTest, AttachingTwiceHasNoEffect) {
  EXPECT_TRUE(groups_.Attach(kGroup, QpNumber(7)).has_value());
  EXPECT_TRUE(groups_.Attach(kGroup, QpNumber(7)).has_value());
  EXPECT_EQ(MembersOf(kGroup).size(), 1u);
  EXPECT_TRUE(groups_.Detach(kGroup, QpNumber(7)).has_value());
  EXPECT_FALSE(groups_.IsAttached(QpNumber(7)));
  const auto again = groups_.Detach(kGroup, QpNumber(7));
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error(), MulticastError::kNotAttached);
}

TEST_F(MulticastGroupsTest, OnlyMulticastAddressesNameGroups) {
  EXPECT_EQ(ErrorOfAttach(IpAddress{}, 1), MulticastError::kNotMulticast);
  for (const uint32_t address : {0xDFFFFFFFu, 0xF0000000u}) {
    EXPECT_FALSE(IsMulticast(IpAddress::FromIpv4(Ipv4Address(address))));
  }
  EXPECT_TRUE(IsMulticast(IpAddress::FromIpv4(Ipv4Address(0xEFFFFFFF))));
  EXPECT_EQ(groups_.group_count(), 0u);
}

TEST_F(MulticastGroupsTest, LimitsHoldAndAreFreedAgain) {
  EXPECT_TRUE(groups_.Attach(kGroup, QpNumber(1)).has_value());
  EXPECT_TRUE(groups_.Attach(kGroup, QpNumber(2)).has_value());
  EXPECT_EQ(ErrorOfAttach(kGroup, 3), MulticastError::kTooManyMembers);
  EXPECT_TRUE(groups_.Attach(kGroup, QpNumber(2)).has_value());  // already a member
  EXPECT_TRUE(groups_.Attach(kIpv4Group, QpNumber(1)).has_value());
  EXPECT_EQ(ErrorOfAttach(kThird, 1), MulticastError::kTooManyGroups);

  EXPECT_TRUE(groups_.Detach(kIpv4Group, QpNumber(1)).has_value());
  EXPECT_EQ(groups_.group_count(), 1u);
  EXPECT_TRUE(groups_.Attach(kThird, QpNumber(1)).has_value());
}

TEST_F(MulticastGroupsTest, AGroupLimitOfZeroMembersRefuses) {
  MulticastGroups none({.groups = 1, .members = 0});
  EXPECT_FALSE(none.Attach(kGroup, QpNumber(1)).has_value());
  EXPECT_EQ(none.group_count(), 0u);
  EXPECT_TRUE(none.IsConsistent());
}

TEST_F(MulticastGroupsTest, IsAttachedIfInAnyGroup) {
  EXPECT_TRUE(groups_.Attach(kGroup, QpNumber(1)).has_value());
  EXPECT_TRUE(groups_.Attach(kIpv4Group, QpNumber(2)).has_value());
  EXPECT_TRUE(groups_.IsAttached(QpNumber(2)));
  EXPECT_FALSE(groups_.IsAttached(QpNumber(3)));
}

}  // namespace
}  // namespace verbena::transport
