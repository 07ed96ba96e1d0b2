#include "transport/cm/cm_manager.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/cm_pair.h"

namespace verbena::transport {
namespace {

using wire::CmRejectReason;

class CmManagerTest : public testing::Test, public CmPair {
 protected:
  // The reason of the REJ that is under way to a.
  CmRejectReason Reason() { return Sent<wire::CmRej>().reason; }
};

TEST_F(CmManagerTest, AListenerGoes) {
  EXPECT_EQ(b.manager->Listen(kService, 1).error(), CmError::kServiceInUse);
  EXPECT_TRUE(b.manager->StopListening(kService));
  EXPECT_EQ(b.manager->StopListening(kService).error(), CmError::kNotListening);
  ASSERT_TRUE(Ask(Req()));
  Deliver();
  EXPECT_EQ(Reason(), CmRejectReason::kInvalidServiceId);
}

TEST_F(CmManagerTest, TheBacklogOfAListenerIsItsBound) {
  std::vector<wire::CommId> waiting;
  for (uint32_t i = 0; i < 4; ++i) waiting.push_back(Request(Req(0x100 + i)).second);
  ASSERT_TRUE(Ask(Req(0x200)));
  Deliver();
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(Reason(), CmRejectReason::kNoResources);
  EXPECT_EQ(b.manager->counters().refused_backlog, 1u);
  wire.clear();
  // One that is answered makes room, although it is not established yet.
  ASSERT_TRUE(Accept(waiting[0], Rep()));
  wire.clear();
  Request(Req(0x201));
  EXPECT_EQ(b.manager->half_open_count(), 5u);
}

TEST(CmManagerLimitsTest, HalfOpenConnectionsHaveABound) {
  CmOptions few = CmPair::DefaultOptions(2);
  few.half_open_max = 2;
  CmPair pair(CmPair::DefaultOptions(1), few);
  for (uint32_t i = 0; i < 2; ++i) {
    const auto of_b = pair.Request(CmPair::Req(0x100 + i)).second;
    ASSERT_TRUE(pair.Accept(of_b, CmPair::Rep(0x200 + i)));
    pair.wire.clear();  // the REPs are lost
  }
  EXPECT_EQ(pair.b.manager->half_open_count(), 2u);
  const auto id = pair.Ask(CmPair::Req(0x300));
  ASSERT_TRUE(id);
  pair.Deliver();
  EXPECT_EQ(pair.Sent<wire::CmRej>().reason, CmRejectReason::kNoResources);
  EXPECT_EQ(pair.b.manager->counters().refused_half_open, 1u);
  pair.wire.clear();
  pair.ExpectAllEnds();
}

TEST(CmManagerLimitsTest, ConnectionsHaveABoundOnBothSides) {
  CmOptions few = CmPair::DefaultOptions(2);
  few.connections_max = 1;
  CmPair pair(CmPair::DefaultOptions(1), few);
  pair.Connect();
  ASSERT_TRUE(pair.Ask(CmPair::Req(0x300)));
  pair.Deliver();
  EXPECT_EQ(pair.Sent<wire::CmRej>().reason, CmRejectReason::kNoResources);
  EXPECT_EQ(pair.b.manager->counters().refused_full, 1u);
  EXPECT_EQ(
      pair.Do(pair.b, [&](CmManager& m,
                          CmStep& s) { return m.Connect(CmPair::Req(0x301), pair.a.address, s); })
          .error(),
      CmError::kTooManyConnections);
}

TEST_F(CmManagerTest, AQpHasOneConnectionUntilItsTimewaitIsOver) {
  const auto [of_a, of_b] = Connect(0x11, 0x22);
  EXPECT_EQ(Ask(Req(0x11)).error(), CmError::kQpInUse);
  const auto pending = Request(Req(0x12)).second;
  EXPECT_EQ(Accept(pending, Rep(0x22)).error(), CmError::kQpInUse);
  ASSERT_TRUE(Disconnect(a, of_a));
  Deliver();
  ASSERT_TRUE(Disconnect(b, of_b));
  Deliver();
  EXPECT_EQ(Ask(Req(0x11)).error(), CmError::kQpInUse) << "timewait";
  while (!a.manager->IsQpFree(QpNumber(0x11))) ASSERT_TRUE(NextTimer(a));
  EXPECT_TRUE(Ask(Req(0x11)));
}

TEST_F(CmManagerTest, ManyDeadlinesAtOnceAreServedInParts) {
  ASSERT_TRUE(b.manager->StopListening(kService));
  ASSERT_TRUE(b.manager->Listen(kService, 1000));
  for (uint32_t i = 0; i < 100; ++i) Request(Req(0x100 + i));
  now = b.manager->next_time();
  const auto on_time = [](CmManager& m, CmStep& s) { return m.OnTime(s); };
  EXPECT_TRUE(Do(b, on_time));
  EXPECT_EQ(b.events.size(), 64u);
  EXPECT_FALSE(Do(b, on_time));
  EXPECT_EQ(b.events.size(), 100u);
}

}  // namespace
}  // namespace verbena::transport
