#include "fabric/machine_addresses.h"

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

constexpr IpAddress kLoopback = IpAddress::FromIpv4(127, 0, 0, 1);
constexpr IpAddress kElsewhere = IpAddress::FromIpv4(192, 0, 2, 1);  // RFC 5737: for documentation

TEST(SystemAddressesTest, HasKnowsLocalAddresses) {
  const SystemAddresses machine;
  EXPECT_TRUE(machine.Has(kLoopback));
  EXPECT_TRUE(machine.Has(IpAddress::FromIpv4(127, 1, 2, 3))) << "all of 127.0.0.0/8";
  EXPECT_FALSE(machine.Has(kElsewhere));
  const auto all = machine.All();
  ASSERT_TRUE(all.has_value());
  for (const LocalAddress& address : *all) {
    // A socket cannot bind a link-local address without its interface.
    if (address.ip.is_link_local()) continue;
    EXPECT_TRUE(machine.Has(address.ip)) << ToString(address.ip);
  }
}

TEST(SystemAddressesTest, KnowTheSourceOfADatagram) {
  EXPECT_EQ(SystemAddresses().SourceFor(kLoopback), kLoopback);
}

TEST(SystemAddressesTest, HasNotChangedWithoutAReport) {
  SystemAddresses machine;
  EXPECT_FALSE(machine.HasChanged());
}

}  // namespace
}  // namespace verbena::fabric
