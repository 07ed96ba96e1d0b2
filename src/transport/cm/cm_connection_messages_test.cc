#include <variant>

#include <gtest/gtest.h>

#include "tests/support/cm_pair.h"
#include "transport/cm/cm_connection.h"

namespace verbena::transport {
namespace {

using wire::CmRejectReason;
using wire::CmSubject;

class CmConnectionMessagesTest : public testing::Test, public CmPair {};

TEST_F(CmConnectionMessagesTest, APeerThatGaveUpRejectsWithoutOurId) {
  const auto [of_a, of_b] = Request();
  for (int i = 0; i < 4; ++i) {
    wire.clear();
    ASSERT_TRUE(NextTimer(a));
  }
  EXPECT_EQ(Sent<wire::CmRej>().remote_comm_id, wire::CommId());
  Deliver();
  EXPECT_EQ(b.TakeEvent(CmEventType::kRejected).connection, of_b);
  EXPECT_EQ(StateOf(b, of_b), CmState::kTimeWait);
  EXPECT_EQ(Accept(of_b).error(), CmError::kWrongState);
}

TEST_F(CmConnectionMessagesTest, ADuplicateReqRaisesNoSecondEvent) {
  const auto of_a = *Ask();
  Deliver(/*again=*/true);
  const auto of_b = b.TakeEvent(CmEventType::kConnectRequest).connection;
  Deliver(/*again=*/true);
  EXPECT_TRUE(b.events.empty());
  const auto req = wire.front();
  wire.clear();

  // The duplicate gets the same response again.
  ASSERT_TRUE(SendMra(b, of_b, 18));
  const auto mra = wire.front().second.mad;
  wire.clear();
  wire.push_back(req);
  Deliver();
  EXPECT_EQ(wire.front().second.mad, mra);
  wire.clear();
  ASSERT_TRUE(Accept(of_b));
  const auto rep = wire.front().second.mad;
  wire.clear();
  wire.push_back(req);
  Deliver();
  EXPECT_EQ(wire.front().second.mad, rep);
  Deliver();
  a.TakeEvent(CmEventType::kConnectResponse);
  ASSERT_TRUE(Establish(of_a));
  Deliver();
  b.TakeEvent(CmEventType::kEstablished);
  wire.push_back(req);
  Deliver();
  EXPECT_TRUE(wire.empty()) << "the answer has arrived: there is an RTU";
  EXPECT_TRUE(b.events.empty());
}

TEST_F(CmConnectionMessagesTest, ADuplicateReqGetsTheRejectionAgain) {
  const auto of_a = *Ask();
  Deliver(/*again=*/true);
  const auto of_b = b.TakeEvent(CmEventType::kConnectRequest).connection;
  const auto req = wire.front();
  wire.clear();
  ASSERT_TRUE(Reject(b, of_b));
  const auto rej = wire.front().second.mad;
  EXPECT_EQ(Sent<wire::CmRej>().rejected, CmSubject::kReq);
  wire.clear();
  wire.push_back(req);
  Deliver();
  EXPECT_EQ(wire.front().second.mad, rej);
  Deliver();
  const CmRaisedEvent event = a.TakeEvent(CmEventType::kRejected);
  EXPECT_EQ(std::get<wire::CmRej>(*event.message).private_data, Data<148>("no"));
  EXPECT_EQ(StateOf(a, of_a), CmState::kTimeWait);
  // As long as the peer would have retransmitted, and without an event, because there was no QP.
  ASSERT_TRUE(NextTimer(b));
  EXPECT_EQ(now - Time(),
            4 * (wire::DurationOf(wire::CmTimeout(14)) + 2 * CmOptions().packet_life));
  EXPECT_TRUE(b.events.empty());
  ExpectAllEnds();
}

TEST_F(CmConnectionMessagesTest, ALostRtuIsRetransmittedForEachRep) {
  const auto [of_a, of_b] = Request();
  ASSERT_TRUE(Accept(of_b));
  Deliver();
  a.TakeEvent(CmEventType::kConnectResponse);
  ASSERT_TRUE(Establish(of_a));
  wire.clear();
  ASSERT_TRUE(NextTimer(b));
  Deliver();
  EXPECT_TRUE(a.events.empty());
  Deliver();
  b.TakeEvent(CmEventType::kEstablished);
  EXPECT_EQ(StateOf(b, of_b), CmState::kEstablished);
}

TEST_F(CmConnectionMessagesTest, ALostDrepIsRetransmitted) {
  const auto [of_a, of_b] = Connect();
  ASSERT_TRUE(Disconnect(a, of_a));
  Deliver();
  b.TakeEvent(CmEventType::kDisconnected);
  ASSERT_TRUE(Disconnect(b, of_b, "bye"));
  wire.clear();
  Do(a, [&](CmManager& m, CmStep& s) {
    s.now = now = m.next_time();
    return m.OnTime(s);
  });
  Deliver();
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(Sent<wire::CmDrep>().private_data, Data<224>("bye"));
  Deliver();
  a.TakeEvent(CmEventType::kDisconnected);
}

TEST_F(CmConnectionMessagesTest, ADreqForAnotherQpIsIgnored) {
  const auto [of_a, of_b] = Connect();
  const wire::CmDreq dreq{
      .local_comm_id = of_a, .remote_comm_id = of_b, .remote_qp = QpNumber(0x23)};
  Arrive(b, a.address, {wire::TransactionId(1), dreq});
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(StateOf(b, of_b), CmState::kEstablished);
}

TEST_F(CmConnectionMessagesTest, ADreqBeforeTheRtuImpliesIt) {
  const auto [of_a, of_b] = Request();
  ASSERT_TRUE(Accept(of_b));
  Deliver();
  a.TakeEvent(CmEventType::kConnectResponse);
  ASSERT_TRUE(Establish(of_a));
  wire.clear();
  ASSERT_TRUE(Disconnect(a, of_a));
  Deliver();
  b.TakeEvent(CmEventType::kDisconnected);
  EXPECT_EQ(StateOf(b, of_b), CmState::kDreqReceived);
}

// The response to a duplicated REQ arrives after the connection was accepted.
TEST_F(CmConnectionMessagesTest, ARejectionOfTheReqDoesNotEndAnEstablishedConnection) {
  const auto [of_a, of_b] = Connect();
  wire::CmRej rej{.local_comm_id = of_b,
                  .remote_comm_id = of_a,
                  .rejected = CmSubject::kReq,
                  .reason = CmRejectReason::kStaleConnection};
  Arrive(a, b.address, {wire::TransactionId(1), rej});
  EXPECT_TRUE(a.events.empty());
  EXPECT_EQ(StateOf(a, of_a), CmState::kEstablished);
  rej.rejected = CmSubject::kOther;
  Arrive(a, b.address, {wire::TransactionId(1), rej});
  a.TakeEvent(CmEventType::kRejected);
}

TEST_F(CmConnectionMessagesTest, AReqInTimewaitIsStale) {
  const auto of_a = *Ask();
  const auto req = wire.front();
  Deliver();
  const auto of_b = b.TakeEvent(CmEventType::kConnectRequest).connection;
  ASSERT_TRUE(Accept(of_b));
  Deliver();
  a.TakeEvent(CmEventType::kConnectResponse);
  ASSERT_TRUE(Establish(of_a));
  Deliver();
  b.TakeEvent(CmEventType::kEstablished);
  ASSERT_TRUE(Disconnect(a, of_a));
  Deliver();
  b.TakeEvent(CmEventType::kDisconnected);
  ASSERT_TRUE(Disconnect(b, of_b));
  DeliverAll();
  wire.push_back(req);
  Deliver();
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(Sent<wire::CmRej>().reason, CmRejectReason::kStaleConnection);
}

}  // namespace
}  // namespace verbena::transport
