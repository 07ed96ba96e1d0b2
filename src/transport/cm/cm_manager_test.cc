#include "transport/cm/cm_manager.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/cm_pair.h"

namespace verbena::transport {
namespace {

using wire::CmRejectReason;

class CmManagerTest : public testing::Test, public CmPair {
 protected:
  // The reason of the REJ that was sent to a.
  CmRejectReason Reason() { return Sent<wire::CmRej>().reason; }
};

TEST_F(CmManagerTest, AListenerCanBeRemoved) {
  EXPECT_EQ(b.manager->Listen(kService, 1).error(), CmError::kServiceInUse);
  EXPECT_TRUE(b.manager->StopListening(kService));
  EXPECT_EQ(b.manager->StopListening(kService).error(), CmError::kNotListening);
  ASSERT_TRUE(Ask(Req()));
  Deliver();
  EXPECT_EQ(Reason(), CmRejectReason::kInvalidServiceId);
}

TEST_F(CmManagerTest, TheBacklogBoundsTheRequestsOfAListener) {
  std::vector<wire::CommId> waiting;
  for (uint32_t i = 0; i < 4; ++i) waiting.push_back(Request(Req(0x100 + i)).second);
  ASSERT_TRUE(Ask(Req(0x200)));
  Deliver();
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(Reason(), CmRejectReason::kNoResources);
  EXPECT_EQ(b.manager->counters().refused_backlog, 1u);
  wire.clear();
  // A request that was accepted makes room before it is established.
  ASSERT_TRUE(Accept(waiting[0], Rep()));
  wire.clear();
  Request(Req(0x201));
  EXPECT_EQ(b.manager->half_open_count(), 5u);
}

TEST(CmManagerLimitsTest, HalfOpenConnectionsAreBounded) {
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

// One peer has taken all places, for as long as its requests say.
TEST(CmManagerLimitsTest, TheBusiestPeerGivesWayToAnother) {
  CmOptions few = CmPair::DefaultOptions(2);
  few.half_open_max = 2;
  CmPair pair(CmPair::DefaultOptions(1), few);
  const auto oldest = pair.Request(CmPair::Req(0x100)).second;
  pair.Request(CmPair::Req(0x101));
  const IpAddress other = IpAddress::FromIpv4(10, 0, 0, 77);
  wire::CmReq req = CmPair::Req(0x300);
  req.local_comm_id = wire::CommId(5);
  pair.Arrive(pair.b, other, {wire::TransactionId(1), req});
  const auto rej = pair.Sent<wire::CmRej>();
  EXPECT_EQ(rej.reason, CmRejectReason::kNoResources);
  EXPECT_EQ(rej.local_comm_id, oldest);
  ASSERT_EQ(pair.b.events.size(), 2u);
  EXPECT_EQ(pair.b.events[0].type, CmEventType::kUnreachable);
  EXPECT_EQ(pair.b.events[0].connection, oldest);
  EXPECT_EQ(pair.b.events[1].type, CmEventType::kConnectRequest);
  EXPECT_EQ(pair.b.events[1].peer.address, other);
  pair.b.events.clear();
  EXPECT_EQ(pair.b.manager->half_open_count(), 2u);
  EXPECT_EQ(pair.b.manager->counters().gave_way, 1u);
  pair.DeliverAll();
  EXPECT_EQ(pair.a.TakeEvent(CmEventType::kRejected).type, CmEventType::kRejected);
  // Each has one now: the next request of either is refused.
  req.local_comm_id = wire::CommId(6);
  req.local_qp = QpNumber(0x301);
  pair.Arrive(pair.b, other, {wire::TransactionId(2), req});
  EXPECT_EQ(pair.b.manager->counters().refused_half_open, 1u);
  pair.wire.clear();
  pair.ExpectAllEnds();
}

// Independent of the timeouts of its request: otherwise the table of connections fills instead.
TEST(CmManagerLimitsTest, AConnectionThatGaveWayEndsSoon) {
  CmOptions few = CmPair::DefaultOptions(2);
  few.half_open_max = 2;
  CmPair pair(CmPair::DefaultOptions(1), few);
  wire::CmReq patient = CmPair::Req(0x100);
  patient.remote_response_timeout = wire::CmTimeout(31);
  const auto oldest = pair.Request(patient).second;
  pair.Request(CmPair::Req(0x101));
  wire::CmReq req = CmPair::Req(0x300);
  req.local_comm_id = wire::CommId(5);
  pair.Arrive(pair.b, IpAddress::FromIpv4(10, 0, 0, 77), {wire::TransactionId(1), req});
  EXPECT_EQ(CmPair::StateOf(pair.b, oldest), CmState::kTimeWait);
  EXPECT_EQ(pair.b.manager->Find(oldest)->deadline(), pair.now + few.time_wait);
}

TEST(CmManagerLimitsTest, ConnectionsAreBoundedOnBothSides) {
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
