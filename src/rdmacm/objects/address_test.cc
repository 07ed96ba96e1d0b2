#include "rdmacm/objects/address.h"

#include <arpa/inet.h>

#include <cstring>

#include <gtest/gtest.h>

namespace verbena::rdmacm {
namespace {

const sockaddr& AsSockaddr(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr&>(storage);
}

CmAddress Address(const char* text, uint16_t port, uint32_t interface = 0) {
  return {.ip = *ParseIpAddress(text), .port = port, .interface = interface};
}

TEST(AddressTest, BothFamiliesSurviveARoundTrip) {
  for (const CmAddress& address :
       {Address("10.0.0.1", 7174), Address("fd00::1", 1), Address("fe80::1", 65535, 3)}) {
    sockaddr_storage stored{};
    Store(address, stored);
    EXPECT_EQ(FromSockaddr(AsSockaddr(stored)), address);
    EXPECT_EQ(PortOf(AsSockaddr(stored)), htons(address.port));
    EXPECT_EQ(LengthOf(&AsSockaddr(stored)),
              address.ip.is_ipv4() ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  }
}

TEST(AddressTest, AWildcardKeepsItsFamily) {
  sockaddr_storage stored{};
  Store({.ip = WildcardOf(AF_INET), .port = 5}, stored);
  EXPECT_EQ(stored.ss_family, AF_INET);
  EXPECT_TRUE(IsWildcard(FromSockaddr(AsSockaddr(stored)).ip));
  Store({.ip = WildcardOf(AF_INET6), .port = 5}, stored);
  EXPECT_EQ(stored.ss_family, AF_INET6);
  EXPECT_TRUE(IsWildcard(FromSockaddr(AsSockaddr(stored)).ip));
  EXPECT_FALSE(IsWildcard(LoopbackOf(WildcardOf(AF_INET))));
  EXPECT_EQ(ToString(LoopbackOf(WildcardOf(AF_INET))), "127.0.0.1");
  EXPECT_EQ(ToString(LoopbackOf(WildcardOf(AF_INET6))), "::1");
}

TEST(AddressTest, OtherFamiliesHaveNoLengthAndNoPort) {
  sockaddr_storage other{};
  other.ss_family = AF_UNIX;
  EXPECT_EQ(LengthOf(&AsSockaddr(other)), 0U);
  EXPECT_EQ(LengthOf(nullptr), 0U);
  EXPECT_EQ(PortOf(AsSockaddr(other)), 0);
}

TEST(AddressTest, OnlyLinkLocalAddressesHaveAScope) {
  sockaddr_storage stored{};
  Store(Address("fd00::1", 1), stored);
  reinterpret_cast<sockaddr_in6&>(stored).sin6_scope_id = 9;
  EXPECT_EQ(FromSockaddr(AsSockaddr(stored)).interface, 0U);
}

TEST(AddressTest, TheGidOfAnIpv4AddressIsMapped) {
  const ibv_gid gid = ToGid(*ParseIpAddress("10.1.2.3"));
  EXPECT_EQ(gid.raw[10], 0xFF);
  EXPECT_EQ(gid.raw[11], 0xFF);
  EXPECT_EQ(gid.raw[12], 10);
  EXPECT_EQ(gid.raw[15], 3);
}

}  // namespace
}  // namespace verbena::rdmacm
