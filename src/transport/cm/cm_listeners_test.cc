#include "transport/cm/cm_listeners.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

constexpr wire::ServiceId kService{0x1060001};

TEST(CmListenersTest, AServiceHasOneListenerAndThereIsABound) {
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

TEST(CmListenersTest, ItIsFullWithAsManyRequestsAsItsBacklog) {
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

}  // namespace
}  // namespace verbena::transport
