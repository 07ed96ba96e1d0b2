#include "transport/cm/cm_connection.h"

#include <variant>

#include <gtest/gtest.h>

#include "tests/support/cm_pair.h"

namespace verbena::transport {
namespace {

using wire::CmRejectReason;
using wire::CmSubject;

class CmConnectionTest : public testing::Test, public CmPair {};

TEST_F(CmConnectionTest, AReqIsRetransmittedAtItsTimeoutUpToItsRetries) {
  const auto of_a = *Ask();
  const auto first = wire.front().second.mad;
  const Duration wait = wire::DurationOf(wire::CmTimeout(14)) + 2 * CmOptions().packet_life;
  for (int i = 1; i <= 3; ++i) {
    wire.clear();
    ASSERT_TRUE(NextTimer(a));
    EXPECT_EQ(now, Time() + i * wait);
    ASSERT_EQ(wire.size(), 1u);
    EXPECT_EQ(wire.front().second.mad, first);
    EXPECT_TRUE(a.events.empty());
  }
  wire.clear();
  ASSERT_TRUE(NextTimer(a));
  EXPECT_EQ(now, Time() + 4 * wait);
  EXPECT_EQ(a.TakeEvent(CmEventType::kUnreachable).connection, of_a);
  const auto rej = Sent<wire::CmRej>();
  EXPECT_EQ(rej.reason, CmRejectReason::kTimeout);
  EXPECT_EQ(rej.info_length, 8);
  EXPECT_EQ(rej.info.bytes[7], std::byte{1});  // the GUID
  EXPECT_EQ(StateOf(a, of_a), CmState::kTimeWait) << "a copy of the REQ may be under way";
  EXPECT_FALSE(a.manager->IsQpFree(QpNumber(0x11)));
  EXPECT_EQ(a.manager->counters().retransmissions, 3u);
  ExpectAllEnds();
  EXPECT_TRUE(a.events.empty()) << "there was no connection";
  EXPECT_TRUE(a.manager->IsQpFree(QpNumber(0x11)));
}

TEST_F(CmConnectionTest, AServiceTimeoutExtendsTheTimer) {
  const auto [of_a, of_b] = Request();
  ASSERT_TRUE(SendMra(b, of_b, 18));  // 1.07 s
  EXPECT_EQ(SendMra(b, of_b, 18).error(), CmError::kWrongState);
  EXPECT_EQ(Sent<wire::CmMra>().received, CmSubject::kReq);
  Deliver();
  EXPECT_EQ(StateOf(a, of_a), CmState::kMraReqReceived);
  EXPECT_EQ(a.manager->next_time(),
            now + wire::DurationOf(wire::CmTimeout(18)) + 2 * CmOptions().packet_life);
  ASSERT_TRUE(NextTimer(a));
  EXPECT_EQ(StateOf(a, of_a), CmState::kReqSent);
  EXPECT_EQ(Sent<wire::CmReq>().local_comm_id, of_a);
  wire.clear();
  ASSERT_TRUE(Accept(of_b));
  DeliverAll();
  a.TakeEvent(CmEventType::kConnectResponse);
}

TEST_F(CmConnectionTest, AServiceTimeoutIsBounded) {
  const auto of_b = Request().second;
  ASSERT_TRUE(SendMra(b, of_b, 31));  // 2.4 hours
  Deliver();
  EXPECT_EQ(a.manager->next_time(), now + CmOptions().patience_max);
  EXPECT_EQ(b.manager->next_time(), now + CmOptions().patience_max);
}

TEST_F(CmConnectionTest, TheActiveSideMaySendAnMraToo) {
  const auto [of_a, of_b] = Request();
  ASSERT_TRUE(Accept(of_b));
  const auto rep = wire.front();
  Deliver();
  a.TakeEvent(CmEventType::kConnectResponse);
  ASSERT_TRUE(SendMra(a, of_a, 18));
  EXPECT_EQ(Sent<wire::CmMra>().received, CmSubject::kRep);
  Deliver();
  EXPECT_EQ(StateOf(b, of_b), CmState::kMraRepReceived);
  wire.push_back(rep);
  Deliver();
  EXPECT_EQ(Sent<wire::CmMra>().remote_comm_id, of_b) << "the answer to a duplicate REP";
  wire.clear();
  ASSERT_TRUE(NextTimer(b));
  EXPECT_EQ(StateOf(b, of_b), CmState::kRepSent);
  DeliverAll();
  ASSERT_TRUE(Establish(of_a));
  DeliverAll();
  b.TakeEvent(CmEventType::kEstablished);
}

TEST_F(CmConnectionTest, APassiveSideWithoutRtuGivesUpAndNotifiesThePeer) {
  const auto [of_a, of_b] = Request();
  ASSERT_TRUE(Accept(of_b));
  Deliver();
  a.TakeEvent(CmEventType::kConnectResponse);
  ASSERT_TRUE(Establish(of_a));
  for (int i = 0; i < 4; ++i) {
    wire.clear();
    ASSERT_TRUE(NextTimer(b));
  }
  b.TakeEvent(CmEventType::kUnreachable);
  EXPECT_EQ(StateOf(b, of_b), CmState::kTimeWait);
  EXPECT_EQ(Sent<wire::CmRej>().rejected, CmSubject::kOther);
  Deliver();
  a.TakeEvent(CmEventType::kRejected);
  EXPECT_EQ(StateOf(a, of_a), CmState::kTimeWait);
  ExpectAllEnds();
}

TEST_F(CmConnectionTest, ARequestIsNotKeptLongerThanThePeerWaits) {
  Request();
  ASSERT_TRUE(NextTimer(b));
  EXPECT_EQ(now - Time(),
            4 * (wire::DurationOf(wire::CmTimeout(14)) + 2 * CmOptions().packet_life));
  b.TakeEvent(CmEventType::kUnreachable);
  Deliver();
  EXPECT_EQ(std::get<wire::CmRej>(*a.TakeEvent(CmEventType::kRejected).message).reason,
            CmRejectReason::kTimeout);
  ExpectAllEnds();
}

TEST_F(CmConnectionTest, AResponseIsNotKeptForever) {
  ASSERT_TRUE(Accept(Request().second));
  Deliver();
  a.TakeEvent(CmEventType::kConnectResponse);
  ASSERT_TRUE(NextTimer(a));
  a.TakeEvent(CmEventType::kUnreachable);
  Deliver();
  b.TakeEvent(CmEventType::kRejected);
  ExpectAllEnds();
}

TEST_F(CmConnectionTest, ADreqWithoutResponseEndsInTheSameEvent) {
  const auto [of_a, of_b] = Connect();
  ASSERT_TRUE(Disconnect(a, of_a));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(NextTimer(a));
    EXPECT_TRUE(a.events.empty());
  }
  ASSERT_TRUE(NextTimer(a));
  EXPECT_FALSE(a.TakeEvent(CmEventType::kDisconnected).message.has_value());
  EXPECT_EQ(StateOf(a, of_a), CmState::kTimeWait);
  wire.clear();
  EXPECT_EQ(StateOf(b, of_b), CmState::kEstablished);
}

TEST_F(CmConnectionTest, ADreqThatTheConsumerIgnoresGetsADrep) {
  const auto [of_a, of_b] = Connect();
  ASSERT_TRUE(Disconnect(a, of_a));
  Deliver();
  b.TakeEvent(CmEventType::kDisconnected);
  ASSERT_TRUE(NextTimer(b));
  Deliver();
  a.TakeEvent(CmEventType::kDisconnected);
  EXPECT_EQ(StateOf(b, of_b), CmState::kTimeWait);
  ExpectAllEnds();
}

}  // namespace
}  // namespace verbena::transport
