#include "transport/cm/remote_key.h"

#include <set>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

TEST(RemoteKeyTest, NumbersAddressesAndGuidsHaveDifferentHashes) {
  std::set<std::size_t> hashes;
  for (uint32_t i = 0; i < 100; ++i) {
    const auto address = IpAddress::FromIpv4(Ipv4Address(0x0A000000 + i));
    hashes.insert(RemoteKeyHash()({.peer = address}));
    hashes.insert(RemoteKeyHash()({.guid = wire::CaGuid(i + 1)}));
    hashes.insert(RemoteKeyHash()({.number = i + 1}));
  }
  EXPECT_EQ(hashes.size(), 300u);
}

}  // namespace
}  // namespace verbena::transport
