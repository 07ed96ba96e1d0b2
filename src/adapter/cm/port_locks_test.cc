#include "adapter/cm/port_locks.h"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/port_processes.h"

namespace verbena::adapter {
namespace {

constexpr IpAddress kIpv4 = IpAddress::FromIpv4(10, 0, 0, 1);
constexpr IpAddress kOtherIpv4 = IpAddress::FromIpv4(10, 0, 0, 2);
constexpr IpAddress kIpv6 = {{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr uint16_t kPort = 7471;

class PortLocksTest : public ::testing::Test {
 protected:
  ErrorOr<std::vector<NameLock>> Lock(const PortRequest& request,
                                      std::span<const NameLock> own = {}) {
    return LockPort(names_, request, random_, own);
  }
  // The error text of the request while `holder` exists.
  std::string WhyNot(const PortRequest& request, const PortRequest& holder) {
    const auto held = Lock(holder);
    EXPECT_TRUE(held.has_value()) << held.error().text;
    const auto refused = Lock(request);
    EXPECT_EQ(ErrnoOf(refused), EADDRINUSE);
    return refused ? "" : refused.error().text;
  }

  const PortNames names_{kTestBasePort};
  Random random_{1};
};

// Every kind of bind that AreInConflict distinguishes.
std::vector<PortRequest> EveryKind(uint16_t port) {
  std::vector<PortRequest> kinds;
  for (const IpAddress& address : {kAnyIpv4, kAnyIpv6, kIpv4, kOtherIpv4, kIpv6}) {
    for (const bool own_family_only : {false, true}) {
      for (const bool reuse : {false, true}) {
        kinds.push_back({.address = address,
                         .port = port,
                         .own_family_only = own_family_only,
                         .reuse_address = reuse});
      }
    }
  }
  return kinds;
}

TEST_F(PortLocksTest, LocksExcludeEachOtherIfTheBindsConflict) {
  for (const uint16_t port : {kPort, uint16_t{40'000}}) {
    for (const PortRequest& a : EveryKind(port)) {
      const auto first = Lock(a);
      ASSERT_TRUE(first.has_value()) << first.error().text;
      for (const PortRequest& b : EveryKind(port)) {
        const auto second = Lock(b);
        EXPECT_EQ(ErrnoOf(second), AreInConflict(a, b) ? EADDRINUSE : 0)
            << ToString(a) << a.reuse_address << " and " << ToString(b) << b.reuse_address;
      }
    }
  }
}

TEST_F(PortLocksTest, TheErrorNamesTheConflictingBind) {
  EXPECT_EQ(WhyNot({.address = kIpv4, .port = kPort}, {.address = kAnyIpv4, .port = kPort}),
            "tcp port 7471 of 10.0.0.1 is in use by a bind to all IPv4 addresses");
  EXPECT_EQ(WhyNot({.address = kAnyIpv4, .port = kPort}, {.address = kIpv4, .port = kPort}),
            "tcp port 7471 of all IPv4 addresses is in use by a bind to an IPv4 address");
  EXPECT_EQ(WhyNot({.address = kIpv6, .port = kPort}, {.address = kIpv6, .port = kPort}),
            "tcp port 7471 of fd00::1 is in use by a bind to fd00::1");
  EXPECT_EQ(WhyNot({.address = kAnyIpv6, .port = kPort},
                   {.address = kAnyIpv6, .port = kPort, .reuse_address = true}),
            "tcp port 7471 of all addresses is in use by a bind to all IPv4 addresses that allows "
            "reuse");
}

TEST_F(PortLocksTest, APortInABlockOfAnotherProcessIsInUse) {
  const PortRequest request{.port = 40'000};
  auto block = NameLock::Acquire(names_.OfBlock(request.service()), LockMode::kExclusive, random_);
  ASSERT_TRUE(block.has_value());
  const auto refused = Lock(request);
  ASSERT_EQ(ErrnoOf(refused), EADDRINUSE);
  EXPECT_EQ(refused.error().text,
            "tcp port 40000 of all IPv4 addresses is in use by a process that has the block of "
            "ephemeral ports 40000 to 40063");
  block = Fail(LockFailure{});
  EXPECT_TRUE(Lock(request).has_value());
}

TEST_F(PortLocksTest, TheErrorNamesTheLimitOfSharers) {
  const PortRequest request{.port = kPort, .reuse_address = true};
  std::vector<std::vector<NameLock>> held;
  for (int i = 0; i < NameLock::kSharersMax; ++i) {
    auto locks = Lock(request);
    ASSERT_TRUE(locks.has_value());
    held.push_back(std::move(*locks));
  }
  EXPECT_EQ(Lock(request).error().text,
            "tcp port 7471 of all IPv4 addresses is in use by 64 binds, which is as many as can "
            "share it");
}

TEST_F(PortLocksTest, AnOwnBindDoesNotConflict) {
  for (PortRequest request : EveryKind(kPort)) {
    if (!request.reuse_address) continue;
    auto own = Lock(request);
    ASSERT_TRUE(own.has_value());
    request.reuse_address = false;
    EXPECT_EQ(ErrnoOf(Lock(request)), EADDRINUSE);
    own = Lock(request, *own);
    ASSERT_TRUE(own.has_value()) << own.error().text;
  }
}

}  // namespace
}  // namespace verbena::adapter
