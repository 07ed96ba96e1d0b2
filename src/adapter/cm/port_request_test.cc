#include "adapter/cm/port_request.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

using wire::IpCmProtocol;

constexpr IpAddress kIpv4 = IpAddress::FromIpv4(10, 0, 0, 1);
constexpr IpAddress kOtherIpv4 = IpAddress::FromIpv4(10, 0, 0, 2);
constexpr IpAddress kIpv6 = {{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

constexpr PortRequest At(const IpAddress& address, bool own_family_only = false,
                         bool reuse = false) {
  return {
      .address = address, .port = 7471, .own_family_only = own_family_only, .reuse_address = reuse};
}

// In both orders.
void ExpectConflict(const PortRequest& a, const PortRequest& b, bool expected) {
  EXPECT_EQ(AreInConflict(a, b), expected) << ToString(a) << " and " << ToString(b);
  EXPECT_EQ(AreInConflict(b, a), expected) << ToString(b) << " and " << ToString(a);
}

TEST(PortRequest, AWildcardConflictsWithEveryBindOfItsFamilies) {
  ExpectConflict(At(kAnyIpv4), At(kAnyIpv4), true);
  ExpectConflict(At(kAnyIpv4), At(kIpv4), true);
  ExpectConflict(At(kAnyIpv6), At(kIpv4), true);
  ExpectConflict(At(kAnyIpv6), At(kAnyIpv4), true);
  ExpectConflict(At(kAnyIpv6), At(kIpv6), true);
  ExpectConflict(At(kAnyIpv6, true), At(kIpv4), false);
  ExpectConflict(At(kAnyIpv6, true), At(kAnyIpv4), false);
  ExpectConflict(At(kAnyIpv6, true), At(kIpv6), true);
  ExpectConflict(At(kAnyIpv6, true), At(kAnyIpv6), true);
  ExpectConflict(At(kAnyIpv4), At(kIpv6), false);
}

TEST(PortRequest, AnAddressConflictsWithItself) {
  ExpectConflict(At(kIpv4), At(kIpv4), true);
  ExpectConflict(At(kIpv4), At(kOtherIpv4), false);
  ExpectConflict(At(kIpv4), At(kIpv6), false);
}

TEST(PortRequest, BothMustAllowReuse) {
  ExpectConflict(At(kIpv4, false, true), At(kIpv4, false, true), false);
  ExpectConflict(At(kAnyIpv4, false, true), At(kIpv4, false, true), false);
  ExpectConflict(At(kAnyIpv4, false, true), At(kIpv4), true);
}

TEST(PortRequest, ProtocolsAndPortsDoNotConflict) {
  PortRequest other = At(kAnyIpv4);
  other.protocol = IpCmProtocol::kUdp;
  ExpectConflict(At(kAnyIpv4), other, false);
  other = At(kAnyIpv4);
  other.port = 7472;
  ExpectConflict(At(kAnyIpv4), other, false);
}

TEST(PortRequest, HasATextForm) {
  EXPECT_EQ(ToString(At(kIpv4)), "tcp port 7471 of 10.0.0.1");
  EXPECT_EQ(ToString(At(kIpv6, true)), "tcp port 7471 of fd00::1");
  EXPECT_EQ(ToString(At(kAnyIpv4)), "tcp port 7471 of all IPv4 addresses");
  EXPECT_EQ(ToString(At(kAnyIpv6)), "tcp port 7471 of all addresses");
  EXPECT_EQ(ToString(At(kAnyIpv6, true)), "tcp port 7471 of all IPv6 addresses");
  EXPECT_EQ(NameOf(IpCmProtocol::kUdp), "udp");
  EXPECT_EQ(NameOf(IpCmProtocol::kIb), "ib");
  EXPECT_EQ(NameOf(static_cast<IpCmProtocol>(99)), "99");
}

TEST(PortRequest, EphemeralPortsAreInBlocks) {
  EXPECT_FALSE(IsEphemeral(32'767));
  EXPECT_TRUE(IsEphemeral(32'768));
  EXPECT_TRUE(IsEphemeral(60'991));
  EXPECT_FALSE(IsEphemeral(60'992));
  EXPECT_EQ(FirstOfBlock(32'768), 32'768);
  EXPECT_EQ(FirstOfBlock(32'831), 32'768);
  EXPECT_EQ(FirstOfBlock(32'832), 32'832);
  EXPECT_EQ(FirstOfBlock(60'991), 60'928);
}

}  // namespace
}  // namespace verbena::adapter
