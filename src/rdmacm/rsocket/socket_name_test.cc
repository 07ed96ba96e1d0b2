#include "rdmacm/rsocket/socket_name.h"

#include <arpa/inet.h>

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

sockaddr_in Ipv4(const char* address, uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  inet_pton(AF_INET, address, &name.sin_addr);
  return name;
}

const sockaddr* Plain(const sockaddr_in& name) { return reinterpret_cast<const sockaddr*>(&name); }

TEST(SocketName, ReturnsTheAddressItWasMadeFrom) {
  const sockaddr_in raw = Ipv4("10.77.0.1", 7174);
  const auto name = SocketName::From(Plain(raw), sizeof raw);
  ASSERT_TRUE(name);
  EXPECT_TRUE(name->is_ipv4());
  EXPECT_EQ(name->port(), 7174);
  EXPECT_EQ(name->address(), IpAddress::FromIpv4(10, 77, 0, 1));
  EXPECT_EQ(name->size(), sizeof(sockaddr_in));
  EXPECT_EQ(SocketName::From(name->datagram_address()), *name);
}

TEST(SocketName, SupportsIpv6) {
  const DatagramAddress address{*ParseIpAddress("fd77::2"), 9};
  const SocketName name = SocketName::From(address);
  EXPECT_EQ(name.family(), AF_INET6);
  EXPECT_EQ(name.datagram_address(), address);
  EXPECT_FALSE(name.is_any());
  EXPECT_TRUE(SocketName(AF_INET6).is_any());
}

TEST(SocketName, RefusesOtherFamiliesAndShortNames) {
  sockaddr_in raw = Ipv4("10.77.0.1", 1);
  EXPECT_FALSE(SocketName::From(Plain(raw), sizeof raw - 1));
  raw.sin_family = AF_UNIX;
  EXPECT_FALSE(SocketName::From(Plain(raw), sizeof raw));
  EXPECT_FALSE(SocketName::From(nullptr, sizeof raw));
}

TEST(SocketName, IsTruncatedWhenCopied) {
  const sockaddr_in raw = Ipv4("10.77.0.1", 7174);
  const auto name = SocketName::From(Plain(raw), sizeof raw);
  sockaddr_in copy{};
  socklen_t length = 4;
  name->CopyTo(reinterpret_cast<sockaddr*>(&copy), &length);
  EXPECT_EQ(length, sizeof raw);
  EXPECT_EQ(copy.sin_port, raw.sin_port);
  EXPECT_EQ(copy.sin_addr.s_addr, 0U);
}

TEST(SocketName, IsOrderedByAddressAndPort) {
  SocketName a(AF_INET), b(AF_INET);
  EXPECT_EQ(a, b);
  b.set_port(5);
  EXPECT_NE(a, b);
  EXPECT_TRUE(a < b || b < a);
}

}  // namespace
}  // namespace verbena::rsockets
