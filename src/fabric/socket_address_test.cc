#include "fabric/socket_address.h"

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

constexpr UdpAddress kIpv4{IpAddress::FromIpv4(10, 1, 2, 3), 4791};
constexpr UdpAddress kIpv6{IpAddress::Ipv6Loopback(), 4792};

TEST(SocketAddress, EndpointsSurviveARoundTrip) {
  for (const SocketFamily family : {SocketFamily::kIpv4, SocketFamily::kDualStack}) {
    EXPECT_EQ(SocketAddress(family, kIpv4).endpoint(), kIpv4);
    EXPECT_EQ(SocketAddress(family, kIpv6).endpoint(), kIpv6);
  }
}

TEST(SocketAddress, FamilyDecidesTheFormOfIpv4) {
  const SocketAddress plain(SocketFamily::kIpv4, kIpv4);
  EXPECT_EQ(plain.get()->sa_family, AF_INET);
  EXPECT_EQ(plain.size(), sizeof(sockaddr_in));
  const SocketAddress mapped(SocketFamily::kDualStack, kIpv4);
  EXPECT_EQ(mapped.get()->sa_family, AF_INET6);
  EXPECT_EQ(mapped.size(), sizeof(sockaddr_in6));
}

TEST(SocketAddress, ZoneIsKept) {
  const SocketAddress address(SocketFamily::kDualStack, kIpv6, 7);
  EXPECT_EQ(reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_scope_id, 7u);
}

TEST(SocketAddress, PortsAreInTheOrderOfTheWire) {
  const SocketAddress address(SocketFamily::kIpv4, kIpv4);
  EXPECT_EQ(reinterpret_cast<const sockaddr_in*>(address.get())->sin_port, htons(4791));
}

TEST(SocketAddress, AnotherFamilyIsNoEndpoint) {
  SocketAddress address;
  EXPECT_EQ(address.size(), sizeof(sockaddr_in6));
  address.get()->sa_family = AF_UNIX;
  EXPECT_EQ(address.endpoint(), std::nullopt);
}

}  // namespace
}  // namespace verbena::fabric
