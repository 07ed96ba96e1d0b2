#include "fabric/interfaces.h"

#include <algorithm>
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/own_network.h"

namespace verbena::fabric {
namespace {

constexpr IpAddress kLoopback = IpAddress::FromIpv4(127, 0, 0, 1);

TEST(LocalAddresses, LoopbackIsLast) {
  const auto addresses = LocalAddresses().value();
  const auto first_loopback = std::ranges::find(addresses, true, &LocalAddress::loopback);
  EXPECT_TRUE(std::all_of(first_loopback, addresses.end(),
                          [](const LocalAddress& address) { return address.loopback; }));
  const auto loopback = std::ranges::find(addresses, kLoopback, &LocalAddress::ip);
  ASSERT_NE(loopback, addresses.end());
  EXPECT_EQ(loopback->interface_name, "lo");
  EXPECT_NE(loopback->interface_index, 0u);
  EXPECT_GT(loopback->mtu, 4'096u);
  EXPECT_TRUE(loopback->up);
}

TEST(LocalAddresses, TheOrderIsStable) {
  EXPECT_EQ(LocalAddresses().value(), LocalAddresses().value());
}

TEST(UsualSource, IsTheKernelsChoice) {
  EXPECT_EQ(UsualSource(kLoopback), kLoopback);
  EXPECT_EQ(UsualSource(IpAddress::FromIpv4(127, 0, 0, 9)), kLoopback);
}

TEST(PathMtu, OfLoopbackIsItsInterfaces) {
  const uint32_t mtu = PathMtu({.from = kLoopback, .to = {kLoopback, 4791}}).value();
  EXPECT_GT(mtu, 4'096u);
  EXPECT_EQ(DatagramBytesMax(mtu, kLoopback), mtu - 28);
  EXPECT_EQ(DatagramBytesMax(mtu, IpAddress::Ipv6Loopback()), mtu - 48);
}

TEST(PathMtu, SourceMustBeOfThisMachine) {
  // 192.0.2.0/24 is for documentation (RFC 5737). Nothing is sent.
  const auto mtu = PathMtu({.from = IpAddress::FromIpv4(192, 0, 2, 77), .to = {kLoopback, 4791}});
  ASSERT_FALSE(mtu);
  EXPECT_EQ(mtu.error().os_error, EADDRNOTAVAIL);
  EXPECT_NE(mtu.error().text.find("192.0.2.77"), std::string::npos) << mtu.error().text;
}

void ExpectOwnAddresses(OwnNetwork& network) {
  const auto addresses = LocalAddresses().value();
  const auto ipv4 = std::ranges::find(addresses, OwnNetwork::kIpv4, &LocalAddress::ip);
  ASSERT_NE(ipv4, addresses.end());
  EXPECT_EQ(*ipv4, (LocalAddress{.ip = OwnNetwork::kIpv4,
                                 .interface_name = OwnNetwork::name(),
                                 .interface_index = network.index(),
                                 .mtu = OwnNetwork::kMtu,
                                 .up = true,
                                 .loopback = false}));
  const auto ipv6 = std::ranges::find(addresses, OwnNetwork::kIpv6, &LocalAddress::ip);
  ASSERT_NE(ipv6, addresses.end());
  EXPECT_LT(ipv4, ipv6);
  EXPECT_TRUE(addresses.back().loopback);
}

TEST(LocalAddresses, OfAnOrdinaryInterface) { RUN_IN_OWN_NETWORK(kIp, ExpectOwnAddresses); }

void ExpectPathMtus(OwnNetwork&) {
  EXPECT_EQ(PathMtu({.from = OwnNetwork::kIpv4, .to = {OwnNetwork::kIpv4Peer, 1}}), 1500u);
  EXPECT_EQ(PathMtu({.from = OwnNetwork::kIpv6, .to = {OwnNetwork::kIpv6Peer, 1}}), 1500u);
  const auto nowhere =
      PathMtu({.from = OwnNetwork::kIpv4, .to = {IpAddress::FromIpv4(192, 0, 2, 1), 1}});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().os_error, ENETUNREACH);
}

TEST(PathMtu, OfAnOrdinaryInterface) { RUN_IN_OWN_NETWORK(kIp, ExpectPathMtus); }

}  // namespace
}  // namespace verbena::fabric
