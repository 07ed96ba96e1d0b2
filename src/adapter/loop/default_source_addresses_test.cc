#include "adapter/loop/default_source_addresses.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

IpAddress Ip(const char* text) { return *ParseIpAddress(text); }

class DefaultSourceAddressesTest : public testing::Test {
 protected:
  void Learn(std::initializer_list<const char*> addresses) {
    std::vector<fabric::LocalAddress> list;
    for (const char* const text : addresses) {
      list.push_back({.ip = Ip(text), .interface_name = "x", .interface_index = 2, .mtu = 1'500});
    }
    sources_.Learn(list);
  }
  bool IsUsual(const char* from, const char* to) const {
    return sources_.IsUsual(Ip(from), Ip(to));
  }

  fabric::SystemAddresses machine_;
  DefaultSourceAddresses sources_{machine_};
};

TEST_F(DefaultSourceAddressesTest, NoSourceIsDefaultBeforeTheFirstRefresh) {
  EXPECT_FALSE(IsUsual("10.0.0.1", "10.0.0.2"));
}

TEST_F(DefaultSourceAddressesTest, TheOnlyGlobalAddressOfAFamilyIsTheDefault) {
  Learn({"127.0.0.1", "::1", "10.0.0.1", "fd00::1", "fe80::1"});
  EXPECT_TRUE(IsUsual("10.0.0.1", "10.0.0.2"));
  EXPECT_TRUE(IsUsual("fd00::1", "fd00::2"));
  EXPECT_FALSE(IsUsual("10.0.0.3", "10.0.0.2"));
  EXPECT_FALSE(IsUsual("fe80::1", "fe80::2"));
  // For a link-local destination the system would choose the link-local source.
  EXPECT_FALSE(IsUsual("fd00::1", "fe80::2"));
}

TEST_F(DefaultSourceAddressesTest, WithTwoAddressesNeitherIsTheDefault) {
  Learn({"10.0.0.1", "10.0.1.1", "fd00::1"});
  EXPECT_FALSE(IsUsual("10.0.0.1", "10.0.0.2"));
  EXPECT_FALSE(IsUsual("10.0.1.1", "10.0.0.2"));
  EXPECT_TRUE(IsUsual("fd00::1", "fd00::2"));
  Learn({"10.0.1.1"});
  EXPECT_TRUE(IsUsual("10.0.1.1", "10.0.0.2"));
  EXPECT_FALSE(IsUsual("fd00::1", "fd00::2"));
}

TEST_F(DefaultSourceAddressesTest, ReadsTheAddressesAgainAfterTheyExpire) {
  Learn({"192.0.2.1"});  // RFC 5737: for documentation
  const Time begin = Time() + Milliseconds(1);
  sources_.Refresh(begin);
  EXPECT_FALSE(IsUsual("192.0.2.1", "192.0.2.2"));
  Learn({"192.0.2.1"});
  sources_.Refresh(begin + DefaultSourceAddresses::kGoodFor - Nanoseconds(1));
  EXPECT_TRUE(IsUsual("192.0.2.1", "192.0.2.2"));
  sources_.Refresh(begin + DefaultSourceAddresses::kGoodFor);
  EXPECT_FALSE(IsUsual("192.0.2.1", "192.0.2.2"));
}

}  // namespace
}  // namespace verbena::adapter
