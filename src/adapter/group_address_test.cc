#include "adapter/group_address.h"

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

TEST(GroupAddressTest, ExtractsTheIpv4AddressOfAGid) {
  EXPECT_EQ(GroupAddress(TestIp("ff0e::ffff:239.1.2.3")), TestIp("239.1.2.3"));
  EXPECT_EQ(GroupAddress(TestIp("ff1e::ffff:239.1.2.3")), TestIp("239.1.2.3"));
  EXPECT_EQ(GroupAddress(TestIp("239.1.2.3")), TestIp("239.1.2.3"));
}

TEST(GroupAddressTest, LeavesOtherAddressesUnchanged) {
  for (const char* const text : {"ff0e::1:ffff:239.1.2.3", "ff0e::239.1.2.3", "10.0.0.1", "::1"}) {
    EXPECT_EQ(GroupAddress(TestIp(text)), TestIp(text)) << text;
  }
}

}  // namespace
}  // namespace verbena::adapter
