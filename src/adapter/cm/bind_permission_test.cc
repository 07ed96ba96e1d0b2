#include "adapter/cm/bind_permission.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/port_processes.h"

namespace verbena::adapter {
namespace {

TEST(BindPermission, AnyUserMayBindPortsFromTheLimitOn) {
  EXPECT_TRUE(MayBindPort(FirstUnprivilegedPort()));
  EXPECT_TRUE(MayBindPort(UINT16_MAX));
}

TEST(BindPermission, PortsBelowTheLimitNeedTheCapability) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give up the capability";
  const uint16_t first = FirstUnprivilegedPort();
  if (first < 2) GTEST_SKIP() << "net.ipv4.ip_unprivileged_port_start lets all bind all ports";
  EXPECT_TRUE(MayBindPort(1));
  constexpr uid_t kOrdinaryUser = 65534;
  EXPECT_TRUE(IsTrueInChild([&] {
    if (setuid(kOrdinaryUser) != 0) return false;
    const auto claim = OpenTestSpace()->Claim({.port = 1});
    return !MayBindPort(1) && !MayBindPort(first - 1) && MayBindPort(first) &&
           ErrnoOf(claim) == EACCES &&
           claim.error().text.find("CAP_NET_BIND_SERVICE") != std::string::npos;
  }));
}

}  // namespace
}  // namespace verbena::adapter
