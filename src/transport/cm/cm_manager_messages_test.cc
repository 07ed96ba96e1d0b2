#include <vector>

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"
#include "tests/support/cm_pair.h"
#include "transport/cm/cm_manager.h"

namespace verbena::transport {
namespace {

using wire::CmRejectReason;

class CmManagerMessagesTest : public testing::Test, public CmPair {
 protected:
  // The reason of the REJ that was sent to a.
  CmRejectReason Reason() { return Sent<wire::CmRej>().reason; }
  static wire::CmMad Mad(const wire::CmMessage& message) {
    return {wire::TransactionId(77), message};
  }
};

TEST_F(CmManagerMessagesTest, AServiceWithoutListenerIsRefused) {
  wire::CmReq req = Req();
  req.service_id = wire::ServiceId(5);
  const auto id = Ask(req);
  ASSERT_TRUE(id);
  Deliver();
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(Reason(), CmRejectReason::kInvalidServiceId);
  EXPECT_EQ(b.manager->counters().refused_no_listener, 1u);
  EXPECT_EQ(b.manager->connection_count(), 0u);
  Deliver();
  EXPECT_EQ(a.TakeEvent(CmEventType::kRejected).connection, *id);
}

TEST_F(CmManagerMessagesTest, InvalidRequestsAreRefused) {
  std::vector<wire::CmReq> reqs(3, Req());
  reqs[0].path_mtu = wire::CmMtu(6);
  reqs[1].service_type = wire::CmServiceType::kRd;
  reqs[2].service_type = wire::CmServiceType::kExtended;
  const CmRejectReason reasons[] = {CmRejectReason::kInvalidPathMtu,
                                    CmRejectReason::kInvalidTransportType,
                                    CmRejectReason::kInvalidTransportType};
  for (size_t i = 0; i < reqs.size(); ++i) {
    reqs[i].local_qp = QpNumber(static_cast<uint32_t>(0x30 + i));
    ASSERT_TRUE(Ask(reqs[i]));
    Deliver();
    EXPECT_EQ(Reason(), reasons[i]) << i;
    wire.clear();
  }
  EXPECT_EQ(b.manager->counters().refused_invalid, 3u);
  reqs[2].extended_transport = 1;  // XRC
  reqs[2].local_qp = QpNumber(0x40);
  Request(reqs[2]);
}

TEST_F(CmManagerMessagesTest, ARequestForAConnectedQpIsStaleAndEndsTheOldConnection) {
  const wire::CommId of_b = Connect(0x11, 0x22).second;
  // The peer has restarted, and does not know the connection.
  a.manager = std::make_unique<CmManager>(CmOptions{.ca_guid = wire::CaGuid(1), .id_mask = 0xABCD});
  const auto again = Ask(Req(0x11));
  ASSERT_TRUE(again);
  Deliver();
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(b.manager->counters().refused_stale, 1u);
  EXPECT_EQ(StateOf(b, of_b), CmState::kDreqSent);
  ASSERT_EQ(wire.size(), 2u);  // a REJ for the new, a DREQ for the old
  DeliverAll();
  const CmRaisedEvent event = a.TakeEvent(CmEventType::kRejected);
  EXPECT_EQ(std::get<wire::CmRej>(*event.message).reason, CmRejectReason::kStaleConnection);
  b.TakeEvent(CmEventType::kDisconnected);
  EXPECT_EQ(StateOf(b, of_b), CmState::kTimeWait);
  while (NextTimer(b)) {
  }
  b.TakeEvent(CmEventType::kTimewaitExit);
  while (NextTimer(a)) {
  }
  Connect(0x11, 0x22);
}

TEST_F(CmManagerMessagesTest, AResponseWithAConnectedQpIsStale) {
  const auto old = Connect(0x11, 0x22);
  // The peer has restarted, and reuses the QP.
  b.manager = std::make_unique<CmManager>(CmOptions{.ca_guid = wire::CaGuid(2), .id_mask = 0xABCD});
  ASSERT_TRUE(b.manager->Listen(kService, 4));
  const auto [of_a, of_b] = Request(Req(0x12));
  ASSERT_TRUE(Accept(of_b, Rep(0x22)));
  const auto rep = wire.front();
  Deliver();
  const CmRaisedEvent event = a.TakeEvent(CmEventType::kRejected);
  EXPECT_EQ(std::get<wire::CmRej>(*event.message).reason, CmRejectReason::kStaleConnection);
  EXPECT_EQ(StateOf(a, old.first), CmState::kDreqSent);
  DeliverAll();
  b.TakeEvent(CmEventType::kRejected);
  wire.push_back(rep);
  Deliver();
  EXPECT_EQ(Reason(), CmRejectReason::kStaleConnection) << "a duplicate is answered the same";
  EXPECT_EQ(a.events.size(), 1u) << "of the old connection";
}

// Otherwise a late copy of the REQ would make the next connection of the QP stale.
TEST_F(CmManagerMessagesTest, TheQpOfARefusedRequestIsNotFreeAtOnce) {
  const auto id = *Ask();
  Deliver();
  const auto of_b = b.TakeEvent(CmEventType::kConnectRequest).connection;
  ASSERT_TRUE(Reject(b, of_b));
  Deliver();
  a.TakeEvent(CmEventType::kRejected);
  EXPECT_EQ(Ask().error(), CmError::kQpInUse);
  // Messages for it now belong to no connection.
  Arrive(a, b.address, Mad(wire::CmRep{.local_comm_id = of_b, .remote_comm_id = id}));
  EXPECT_EQ(Reason(), CmRejectReason::kInvalidCommId);
  wire.clear();
  Arrive(a, b.address, Mad(wire::CmDreq{.local_comm_id = of_b, .remote_comm_id = id}));
  EXPECT_EQ(Sent<wire::CmDrep>().remote_comm_id, of_b);
  ExpectAllEnds();
  EXPECT_TRUE(a.events.empty());
  EXPECT_TRUE(Ask());
}

TEST_F(CmManagerMessagesTest, AnotherRequestWithAKnownIdIsRefused) {
  const auto [of_a, of_b] = Request();
  wire::CmReq req = Req(0x99);
  req.local_comm_id = of_a;
  req.local_ca_guid = wire::CaGuid(1);
  Arrive(b, a.address, Mad(req));
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(Reason(), CmRejectReason::kDuplicateCommId);
  EXPECT_EQ(StateOf(b, of_b), CmState::kReqReceived);
}

TEST_F(CmManagerMessagesTest, CrossingRequestsAreTwoConnections) {
  ASSERT_TRUE(a.manager->Listen(kService, 4));
  ASSERT_TRUE(Ask(Req(0x11)));
  ASSERT_TRUE(Do(b, [&](CmManager& m, CmStep& s) { return m.Connect(Req(0x22), a.address, s); }));
  DeliverAll();
  const auto at_a = a.TakeEvent(CmEventType::kConnectRequest).connection;
  const auto at_b = b.TakeEvent(CmEventType::kConnectRequest).connection;
  ASSERT_TRUE(Do(a, [&](CmManager& m, CmStep& s) { return m.Accept(at_a, Rep(0x12), s); }));
  ASSERT_TRUE(Accept(at_b, Rep(0x23)));
  DeliverAll();
  a.TakeEvent(CmEventType::kConnectResponse);
  b.TakeEvent(CmEventType::kConnectResponse);
  EXPECT_EQ(a.manager->connection_count(), 2u);
  EXPECT_EQ(b.manager->connection_count(), 2u);
}

TEST_F(CmManagerMessagesTest, MessagesWithoutAConnectionGetAResponseIfThePeerWaits) {
  const wire::CommId theirs(5), ours(6);
  Arrive(b, a.address, Mad(wire::CmRep{.local_comm_id = theirs, .remote_comm_id = ours}));
  EXPECT_EQ(Reason(), CmRejectReason::kInvalidCommId);
  EXPECT_EQ(Sent<wire::CmRej>().remote_comm_id, theirs);
  EXPECT_EQ(wire.front().second.mad.transaction, wire::TransactionId(77));
  wire.clear();
  Arrive(b, a.address, Mad(wire::CmDreq{.local_comm_id = theirs, .remote_comm_id = ours}));
  EXPECT_EQ(Sent<wire::CmDrep>().remote_comm_id, theirs);
  wire.clear();
  Arrive(b, a.address, Mad(wire::CmLap{.local_comm_id = theirs, .remote_comm_id = ours}));
  EXPECT_EQ(Sent<wire::CmApr>().status, wire::CmAprStatus::kInvalidCommId);
  wire.clear();
  for (const wire::CmMessage& message : std::vector<wire::CmMessage>{
           wire::CmRtu{}, wire::CmDrep{}, wire::CmMra{}, wire::CmRej{}, wire::CmApr{}}) {
    Arrive(b, a.address, Mad(message));
  }
  EXPECT_TRUE(wire.empty());
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(b.manager->counters().unknown, 8u);
}

TEST_F(CmManagerMessagesTest, MessagesFromAnotherAddressAreIgnored) {
  const auto [of_a, of_b] = Connect();
  const auto other = IpAddress::FromIpv4(Ipv4Address(0x0A000009));
  const wire::CmDreq dreq{
      .local_comm_id = of_a, .remote_comm_id = of_b, .remote_qp = QpNumber(0x22)};
  Arrive(b, other, Mad(dreq));
  EXPECT_EQ(StateOf(b, of_b), CmState::kEstablished);
  wire::CmDreq wrong_id = dreq;
  wrong_id.local_comm_id = wire::CommId(of_a.value() + 1);
  Arrive(b, a.address, Mad(wrong_id));
  EXPECT_EQ(StateOf(b, of_b), CmState::kEstablished);
  EXPECT_TRUE(b.events.empty());
}

TEST_F(CmManagerMessagesTest, AnAlternatePathIsRefused) {
  const auto [of_a, of_b] = Connect();
  Arrive(b, a.address, Mad(wire::CmLap{.local_comm_id = of_a, .remote_comm_id = of_b}));
  EXPECT_EQ(Sent<wire::CmApr>().status, wire::CmAprStatus::kUnsupported);
  EXPECT_EQ(b.manager->counters().refused_laps, 1u);
  EXPECT_EQ(StateOf(b, of_b), CmState::kEstablished);
}

TEST_F(CmManagerMessagesTest, MalformedBytesAreCounted) {
  Do(b, [&](CmManager& m, CmStep& s) {
    m.OnDatagram({}, a.address, s);
    m.OnDatagram(std::vector<std::byte>(256), a.address, s);
    return true;
  });
  EXPECT_EQ(b.manager->counters().malformed, 2u);
}

// All valid messages, in any order, to a manager with connections in all states.
TEST_F(CmManagerMessagesTest, AnyMessagesLeaveItConsistent) {
  Random random(1);
  const auto established = Connect();
  const auto pending = Request(Req(0x55));
  for (int i = 0; i < 2000; ++i) {
    for (wire::CmMessage& message : wire::DrawAllCmMessages(random)) {
      std::visit(
          [&](auto& held) {
            if constexpr (requires { held.remote_comm_id; }) {
              const auto& known = random.Chance(1, 2) ? established : pending;
              held.remote_comm_id = known.second;
              held.local_comm_id = known.first;
            } else if constexpr (requires { held.local_comm_id; }) {
              held.local_comm_id = pending.first;
              held.service_id = kService;
            }
          },
          message);
      Arrive(b, a.address, Mad(message));
    }
    wire.clear();
    b.events.clear();
  }
  EXPECT_TRUE(b.manager->IsConsistent());
  ASSERT_TRUE(Destroy(a, established.first));
  ExpectAllEnds();
}

}  // namespace
}  // namespace verbena::transport
