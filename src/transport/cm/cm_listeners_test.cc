#include "transport/cm/cm_listeners.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

constexpr wire::ServiceId kService{0x1060001};

TEST(CmListenersTest, AServiceHasOneListenerAndListenersAreBounded) {
  CmListeners listeners(2);
  EXPECT_TRUE(listeners.Add(kService, 1));
  EXPECT_EQ(listeners.Add(kService, 1).error(), CmError::kServiceInUse);
  EXPECT_TRUE(listeners.Add(wire::ServiceId(2), 1));
  EXPECT_EQ(listeners.Add(wire::ServiceId(3), 1).error(), CmError::kTooManyListeners);
  EXPECT_TRUE(listeners.Remove(kService));
  EXPECT_EQ(listeners.Remove(kService).error(), CmError::kNotListening);
  EXPECT_FALSE(listeners.Has(kService));
  EXPECT_EQ(listeners.size(), 1u);
}

TEST(CmListenersTest, AListenerIsFullAtItsBacklog) {
  CmListeners listeners(2);
  ASSERT_TRUE(listeners.Add(kService, 2));
  EXPECT_FALSE(listeners.IsFull(kService));
  listeners.AddWaiting(kService);
  EXPECT_FALSE(listeners.IsFull(kService));
  listeners.AddWaiting(kService);
  EXPECT_TRUE(listeners.IsFull(kService));
  listeners.RemoveWaiting(kService);
  EXPECT_FALSE(listeners.IsFull(kService));
  EXPECT_EQ(listeners.waiting(kService), 1u);
}

TEST(CmListenersTest, ARequestMayOutliveItsListener) {
  CmListeners listeners(2);
  ASSERT_TRUE(listeners.Add(kService, 2));
  listeners.AddWaiting(kService);
  ASSERT_TRUE(listeners.Remove(kService));
  listeners.RemoveWaiting(kService);
  ASSERT_TRUE(listeners.Add(kService, 2));
  listeners.RemoveWaiting(kService);
  EXPECT_EQ(listeners.waiting(kService), 0u);
}

TEST(CmListenersTest, ARequestIsForTheMostSpecificListener) {
  const IpAddress ipv4 = IpAddress::FromIpv4(10, 0, 0, 1), other = IpAddress::FromIpv4(10, 0, 0, 2);
  const IpAddress any_ipv4 = IpAddress::FromIpv4(0, 0, 0, 0);
  const CmListenAddress specific(kService, ipv4, false), of_ipv4(kService, any_ipv4, false);
  CmListeners listeners(4);
  ASSERT_TRUE(listeners.Add(specific, 1));
  EXPECT_EQ(listeners.Find(kService, ipv4), specific);
  EXPECT_FALSE(listeners.Has(kService, other));
  ASSERT_TRUE(listeners.Add(of_ipv4, 1));
  EXPECT_EQ(listeners.Find(kService, ipv4), specific);
  EXPECT_EQ(listeners.Find(kService, other), of_ipv4);
  EXPECT_FALSE(listeners.Has(kService, IpAddress::Ipv6Loopback()));
  ASSERT_TRUE(listeners.Add(kService, 1));
  EXPECT_EQ(listeners.Find(kService, IpAddress::Ipv6Loopback()), CmListenAddress(kService));
  EXPECT_EQ(listeners.Find(kService, other), of_ipv4);
}

TEST(CmListenersTest, TheWildcardOfIpv6IncludesIpv4UnlessItIsOfItsOwnFamilyOnly) {
  const IpAddress ipv4 = IpAddress::FromIpv4(10, 0, 0, 1);
  CmListeners listeners(4);
  ASSERT_TRUE(listeners.Add({kService, IpAddress{}, true}, 1));
  EXPECT_FALSE(listeners.Has(kService, ipv4));
  EXPECT_TRUE(listeners.Has(kService, IpAddress::Ipv6Loopback()));
  ASSERT_TRUE(listeners.Add(kService, 1));
  EXPECT_TRUE(listeners.Has(kService, ipv4));
}

}  // namespace
}  // namespace verbena::transport
