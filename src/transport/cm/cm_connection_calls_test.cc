#include <variant>

#include <gtest/gtest.h>

#include "tests/support/cm_pair.h"
#include "transport/cm/cm_connection.h"

namespace verbena::transport {
namespace {

using wire::CmSubject;

class CmConnectionCallsTest : public testing::Test, public CmPair {};

TEST_F(CmConnectionCallsTest, AConnectionTakesThreeMessagesWithPrivateData) {
  const auto of_a = *Ask();
  const auto req = Sent<wire::CmReq>();
  EXPECT_EQ(req.local_comm_id, of_a);
  EXPECT_EQ(req.local_ca_guid, wire::CaGuid(1));
  Deliver();
  const CmRaisedEvent request = b.TakeEvent(CmEventType::kConnectRequest);
  EXPECT_EQ(request.peer, a.address);
  EXPECT_EQ(std::get<wire::CmReq>(*request.message), req);
  EXPECT_EQ(StateOf(b, request.connection), CmState::kReqReceived);

  ASSERT_TRUE(Accept(request.connection));
  const auto rep = Sent<wire::CmRep>();
  EXPECT_EQ(rep.remote_comm_id, of_a);
  EXPECT_EQ(rep.local_comm_id, request.connection);
  EXPECT_EQ(rep.local_ca_guid, wire::CaGuid(2));
  Deliver();
  EXPECT_EQ(std::get<wire::CmRep>(*a.TakeEvent(CmEventType::kConnectResponse).message), rep);

  ASSERT_TRUE(Establish(of_a));
  EXPECT_EQ(Sent<wire::CmRtu>().remote_comm_id, request.connection);
  Deliver();
  b.TakeEvent(CmEventType::kEstablished);
  EXPECT_EQ(StateOf(a, of_a), CmState::kEstablished);
  EXPECT_EQ(StateOf(b, request.connection), CmState::kEstablished);
  EXPECT_EQ(a.manager->next_time(), Time::Never());
  EXPECT_EQ(b.manager->next_time(), Time::Never());
}

TEST_F(CmConnectionCallsTest, ResponsesHaveTheTransactionIdOfTheirRequest) {
  const auto [of_a, of_b] = Request();
  ASSERT_TRUE(Accept(of_b));
  const auto transaction = wire.front().second.mad.transaction;
  EXPECT_EQ(transaction.value() >> 32, of_a.value());
  Deliver();
  ASSERT_TRUE(Establish(of_a));
  EXPECT_EQ(wire.front().second.mad.transaction, transaction);
  Deliver();
  ASSERT_TRUE(Disconnect(b, of_b));
  const auto second = wire.front().second.mad.transaction;
  EXPECT_NE(second, transaction);
  Deliver();
  ASSERT_TRUE(Disconnect(a, of_a));
  EXPECT_EQ(wire.front().second.mad.transaction, second);
}

TEST_F(CmConnectionCallsTest, ADisconnectTakesTwoMessagesAndATimewait) {
  const auto [of_a, of_b] = Connect();
  ASSERT_TRUE(Disconnect(a, of_a, "bye"));
  EXPECT_EQ(Sent<wire::CmDreq>().remote_qp, QpNumber(0x22));
  Deliver();
  const CmRaisedEvent event = b.TakeEvent(CmEventType::kDisconnected);
  EXPECT_EQ(std::get<wire::CmDreq>(*event.message).private_data, Data<220>("bye"));
  EXPECT_EQ(StateOf(b, of_b), CmState::kDreqReceived);
  ASSERT_TRUE(Disconnect(b, of_b, "so be it"));
  EXPECT_EQ(Sent<wire::CmDrep>().private_data, Data<224>("so be it"));
  Deliver();
  a.TakeEvent(CmEventType::kDisconnected);
  for (CmEnd* const end : {&a, &b}) {
    const QpNumber qp(end == &a ? 0x11 : 0x22);
    EXPECT_FALSE(end->manager->IsQpFree(qp));
    EXPECT_EQ(end->manager->next_time(), now + CmOptions().time_wait);
  }
  const Time end_of_wait = now + CmOptions().time_wait;
  ASSERT_TRUE(NextTimer(a));
  a.TakeEvent(CmEventType::kTimewaitExit);
  EXPECT_EQ(now, end_of_wait);
  EXPECT_TRUE(a.manager->IsQpFree(QpNumber(0x11)));
  ASSERT_TRUE(NextTimer(b));
  b.TakeEvent(CmEventType::kTimewaitExit);
  ExpectAllEnds();
}

TEST_F(CmConnectionCallsTest, DataBeforeTheRtuEstablishesTheConnection) {
  const auto [of_a, of_b] = Request();
  ASSERT_TRUE(Accept(of_b));
  Deliver();
  a.TakeEvent(CmEventType::kConnectResponse);
  ASSERT_TRUE(Establish(of_a));
  ASSERT_TRUE(NotifyEstablished(of_b));
  b.TakeEvent(CmEventType::kEstablished);
  Deliver();
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(StateOf(b, of_b), CmState::kEstablished);
}

TEST_F(CmConnectionCallsTest, TheActiveSideMayRejectTheResponse) {
  const auto [of_a, of_b] = Request();
  ASSERT_TRUE(Accept(of_b));
  Deliver();
  a.TakeEvent(CmEventType::kConnectResponse);
  ASSERT_TRUE(Reject(a, of_a));
  EXPECT_EQ(Sent<wire::CmRej>().rejected, CmSubject::kRep);
  Deliver();
  b.TakeEvent(CmEventType::kRejected);
  EXPECT_EQ(StateOf(a, of_a), CmState::kTimeWait);
  EXPECT_EQ(StateOf(b, of_b), CmState::kTimeWait);
  ExpectAllEnds();
}

TEST_F(CmConnectionCallsTest, CrossingDisconnectsEndBothSidesOnce) {
  const auto [of_a, of_b] = Connect();
  ASSERT_TRUE(Disconnect(a, of_a));
  ASSERT_TRUE(Disconnect(b, of_b));
  DeliverAll();
  a.TakeEvent(CmEventType::kDisconnected);
  b.TakeEvent(CmEventType::kDisconnected);
  EXPECT_EQ(StateOf(a, of_a), CmState::kTimeWait);
  EXPECT_EQ(StateOf(b, of_b), CmState::kTimeWait);
  ExpectAllEnds();
}

TEST_F(CmConnectionCallsTest, DestroyNotifiesThePeerAndRaisesNoEvent) {
  // The states in which the peer must be notified.
  const auto before_rep = Request();
  ASSERT_TRUE(Destroy(a, before_rep.first));
  Deliver();
  b.TakeEvent(CmEventType::kRejected);
  EXPECT_EQ(StateOf(a, before_rep.first), CmState::kTimeWait);

  const auto pending = Request(Req(0x12));
  ASSERT_TRUE(Destroy(b, pending.second));
  Deliver();
  a.TakeEvent(CmEventType::kRejected);

  const auto established = Connect(0x13, 0x23);
  ASSERT_TRUE(Destroy(a, established.first));
  Deliver();
  b.TakeEvent(CmEventType::kDisconnected);
  ASSERT_TRUE(Disconnect(b, established.second));
  Deliver();
  EXPECT_TRUE(a.events.empty());
  EXPECT_EQ(StateOf(a, established.first), CmState::kTimeWait);
  while (NextTimer(a)) {
  }
  EXPECT_TRUE(a.events.empty()) << "no timewait exit";
  b.events.clear();
  ExpectAllEnds();
}

TEST_F(CmConnectionCallsTest, CallsInWrongStatesAreRefused) {
  const auto [of_a, of_b] = Request();
  EXPECT_EQ(Establish(of_a).error(), CmError::kWrongState);
  EXPECT_EQ(Disconnect(a, of_a).error(), CmError::kWrongState);
  EXPECT_EQ(Reject(a, of_a).error(), CmError::kWrongState);
  EXPECT_EQ(SendMra(a, of_a, 1).error(), CmError::kWrongState);
  EXPECT_EQ(NotifyEstablished(of_b).error(), CmError::kWrongState);
  EXPECT_TRUE(wire.empty());
  ASSERT_TRUE(Accept(of_b));
  EXPECT_EQ(Accept(of_b, Rep(0x33)).error(), CmError::kWrongState);
}

}  // namespace
}  // namespace verbena::transport
