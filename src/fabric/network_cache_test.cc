#include "fabric/network_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/support/own_network.h"

namespace verbena::fabric {
namespace {

const IpAddress kAddress = IpAddress::FromIpv4(10, 9, 0, 7);

bool Has(NetworkCache& cache, const IpAddress& ip) {
  const auto all = cache.Addresses(Now());
  return all && std::ranges::any_of(*all, [&](const auto& address) { return address.ip == ip; });
}

TEST(NetworkCacheTest, ReturnsTheAddressesOfTheSystem) {
  NetworkCache cache;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(cache.Addresses(Now()).value(), asked::LocalAddresses().value());
}

TEST(NetworkCacheTest, AnAddressChangeIsSeenAtOnce) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    NetworkCache cache;
    EXPECT_FALSE(Has(cache, kAddress));
    for (int i = 0; i < 3; ++i) {
      network.GiveIpv4(kAddress);
      EXPECT_TRUE(Has(cache, kAddress));
      network.GiveIpv4(IpAddress::FromIpv4(10, 9, 0, 8));
      EXPECT_FALSE(Has(cache, kAddress));
    }
  });
}

TEST(NetworkCacheTest, SourcesAndMtusAreThoseOfTheSystem) {
  NetworkCache cache;
  const IpAddress here = IpAddress::FromIpv4(127, 0, 0, 1);
  const Route route{.from = here, .to = {.ip = here, .port = 4791}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cache.SourceFor(here, Now()), asked::UsualSource(here));
    EXPECT_EQ(cache.Mtu(route, Now()).value(), asked::PathMtu(route).value());
  }
}

TEST(NetworkCacheTest, ARouteChangeIsSeenAtOnce) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    NetworkCache cache;
    const IpAddress peer = OwnNetwork::kIpv4Peer;
    EXPECT_EQ(cache.SourceFor(peer, Now()), OwnNetwork::kIpv4);
    network.GiveIpv4(kAddress);
    EXPECT_EQ(cache.SourceFor(peer, Now()), asked::UsualSource(peer));
  });
}

TEST(NetworkCacheTest, MoreDestinationsThanEntriesWork) {
  NetworkCache cache;
  for (int i = 0; i < 200; ++i) {
    const auto to = IpAddress::FromIpv4(127, 0, 0, static_cast<uint8_t>(1 + i % 100));
    EXPECT_EQ(cache.SourceFor(to, Now()), asked::UsualSource(to));
  }
}

// A child does not take the reports of its parent.
TEST(NetworkCacheTest, AChildDoesNotTakeTheReportsOfItsParent) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    NetworkCache cache;
    EXPECT_FALSE(Has(cache, kAddress));
    network.GiveIpv4(kAddress);
    const pid_t child = fork();
    if (child == 0) _exit(Has(cache, kAddress) ? 0 : 1);
    int status = 1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(Has(cache, kAddress));
  });
}

TEST(NetworkCacheTest, AnotherNetworkNamespaceHasItsOwnAddresses) {
  static NetworkCache cache;
  EXPECT_FALSE(Has(cache, kAddress));
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    network.GiveIpv4(kAddress);
    EXPECT_TRUE(Has(cache, kAddress));
  });
}

}  // namespace
}  // namespace verbena::fabric
