#include "fabric/address_watch.h"

#include <gtest/gtest.h>

#include "tests/support/own_network.h"

namespace verbena::fabric {
namespace {

TEST(AddressWatchTest, ReportsNoChangeAtFirst) {
  AddressWatch watch;
  EXPECT_GE(watch.fd(), 0);
  EXPECT_FALSE(watch.HasChanged());
}

TEST(AddressWatchTest, ANewAddressIsReportedOnce) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    AddressWatch watch;
    network.GiveIpv4(IpAddress::FromIpv4(10, 9, 0, 7));
    EXPECT_TRUE(watch.HasChanged());
    EXPECT_FALSE(watch.HasChanged());
  });
}

TEST(AddressWatchTest, ARemovedAndRestoredAddressIsNoChange) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    network.GiveIpv4(IpAddress::FromIpv4(10, 9, 0, 7));
    AddressWatch watch;
    network.GiveIpv4(IpAddress::FromIpv4(10, 9, 0, 8));
    network.GiveIpv4(IpAddress::FromIpv4(10, 9, 0, 7));
    EXPECT_FALSE(watch.HasChanged());
  });
}

}  // namespace
}  // namespace verbena::fabric
