#include "adapter/cm/gsi.h"

#include <cstring>

#include <gtest/gtest.h>

#include "adapter/cm/cm_values.h"
#include "tests/support/test_ports.h"

namespace verbena::adapter {
namespace {

const IpAddress kOwn = IpAddress::FromIpv4(10, 0, 0, 1);
const IpAddress kPeer = IpAddress::FromIpv4(10, 0, 0, 2);
const IpAddress kAny = IpAddress::FromIpv4(0, 0, 0, 0);

// A general services interface; the test takes its datagrams, and plays the peer.
class GsiTest : public testing::Test {
 protected:
  GsiOptions Options() {
    GsiOptions options;
    options.ports.ports.first = kFirstTestPort;
    options.number = QpNumber(0x5001);
    options.seed = 7;
    return options;
  }

  CmEnd& Bound(PortSpace space = PortSpace::kTcp) {
    CmEnd& end = **gsi_.Create(queue_, space, &user_);
    EXPECT_TRUE(gsi_.Bind(end, {.ip = kAny}, false, false));
    return end;
  }
  CmEnd& Listener(uint32_t backlog = 4) {
    CmEnd& end = Bound();
    EXPECT_TRUE(gsi_.Listen(end, backlog, now_));
    return end;
  }
  CmEnd& Connecting(uint32_t qp = 0x44) {
    CmEnd& end = Bound();
    ConnectionParameters parameters;
    parameters.qp = QpNumber(qp);
    EXPECT_TRUE(gsi_.Connect(end, kOwn, {.ip = kPeer, .port = 7}, parameters, now_));
    return end;
  }
  wire::CmReq Req(const CmEnd& listener, uint32_t qp, uint32_t id) {
    ConnectionParameters parameters;
    parameters.qp = QpNumber(qp);
    wire::CmReq req = RequestOf(parameters, {PortSpace::kTcp, listener.local.port},
                                {.source_port = 9, .source = kPeer, .destination = kOwn});
    req.local_comm_id = wire::CommId(id);
    req.local_ca_guid = wire::CaGuid(3);
    return req;
  }
  template <class Message>
  void Arrives(const Message& message, QpNumber from = QpNumber(0x6001)) {
    const auto mad = wire::CmMad{wire::TransactionId(1), message}.ToBytes();
    gsi_.OnMad(mad, {kPeer, kOwn, from}, now_);
    EXPECT_TRUE(gsi_.IsConsistent());
  }
  // The only datagram to be sent.
  template <class Message>
  Message Sent() {
    EXPECT_EQ(gsi_.datagrams().size(), 1u);
    if (gsi_.datagrams().empty()) return {};
    last_to_ = gsi_.datagrams().front().to;
    const auto message = gsi_.datagrams().front().mad.message;
    gsi_.datagrams().clear();
    EXPECT_TRUE(std::holds_alternative<Message>(message)) << ToString(message);
    return std::holds_alternative<Message>(message) ? std::get<Message>(message) : Message{};
  }
  void RunUntilIdle(Duration limit) {
    const Time end = now_ + limit;
    while (gsi_.next_time() <= end) {
      now_ = gsi_.next_time();
      gsi_.OnTime(now_);
      sent_ += gsi_.datagrams().size();
      gsi_.datagrams().clear();
    }
    now_ = end;
  }
  void ExpectRefusedAfter(Duration wait) {
    RunUntilIdle(wait - Nanoseconds(1));
    EXPECT_EQ(sent_, 0u);
    now_ = gsi_.next_time();
    gsi_.OnTime(now_);
    EXPECT_EQ(Sent<wire::CmRej>().reason, wire::CmRejectReason::kInvalidServiceId);
    EXPECT_EQ(gsi_.counters().refused_no_listener, 1u);
    EXPECT_EQ(gsi_.next_time(), Time::Never());
  }
  std::optional<CmEvent> Event() { return queue_.TryWait(); }

  int user_ = 0;
  Time now_ = Time(Seconds(1));
  CmEventQueue queue_{std::move(*EventFile::Open(true))};
  Gsi gsi_{Options()};
  transport::CmPeer last_to_;
  size_t sent_ = 0;
};

TEST_F(GsiTest, ARequestGoesToTheAddressAndResponsesToTheProcess) {
  CmEnd& end = Connecting();
  const auto req = Sent<wire::CmReq>();
  EXPECT_EQ(last_to_, transport::CmPeer(kPeer, kOwn, wire::kGeneralServicesQp));
  EXPECT_EQ(req.primary.local_gid, kOwn);
  Arrives(wire::CmRep{.local_comm_id = wire::CommId(5),
                      .remote_comm_id = req.local_comm_id,
                      .local_qp = QpNumber(0x66)});
  EXPECT_EQ(Event()->type, CmEventType::kConnectResponse);
  ASSERT_TRUE(gsi_.Establish(end, now_));
  Sent<wire::CmRtu>();
  EXPECT_EQ(last_to_, transport::CmPeer(kPeer, kOwn, QpNumber(0x6001)));
}

TEST_F(GsiTest, APeerThatDoesNotRespondIsUnreachable) {
  Connecting();
  RunUntilIdle(Seconds(30));
  EXPECT_EQ(Event()->type, CmEventType::kUnreachable);
  EXPECT_GT(sent_, 15u);
  EXPECT_EQ(gsi_.counters().unreachable, 1u);
  EXPECT_EQ(gsi_.counters().retransmissions, 15u);
}

TEST_F(GsiTest, ASlowConsumerGetsAnMra) {
  const CmEnd& listener = Listener();
  Arrives(Req(listener, 0x10, 1));
  EXPECT_FALSE(gsi_.has_datagrams());
  now_ = now_ + Milliseconds(600);
  gsi_.OnTime(now_);
  EXPECT_EQ(Sent<wire::CmMra>().received, wire::CmSubject::kReq);
}

TEST_F(GsiTest, AConsumerThatRespondedGetsNoMra) {
  const CmEnd& listener = Listener();
  Arrives(Req(listener, 0x10, 1));
  const CmEvent request = *Event();
  CmEnd& end = **gsi_.Take(request, queue_, nullptr);
  ASSERT_TRUE(gsi_.Accept(end, {}, now_));
  Sent<wire::CmRep>();
  now_ = now_ + Milliseconds(600);
  gsi_.OnTime(now_);
  EXPECT_FALSE(gsi_.has_datagrams());
}

TEST_F(GsiTest, ARequestForAConnectedQueuePairIsStale) {
  const CmEnd& listener = Listener();
  Arrives(Req(listener, 0x10, 1));
  Arrives(Req(listener, 0x10, 2));
  EXPECT_EQ(Sent<wire::CmRej>().reason, wire::CmRejectReason::kStaleConnection);
  EXPECT_EQ(gsi_.counters().refused_stale, 1u);
  // The same numbers from another process belong to another connection.
  Arrives(Req(listener, 0x10, 2), QpNumber(0x7001));
  EXPECT_FALSE(gsi_.has_datagrams());
  EXPECT_EQ(gsi_.counters().requests_received, 2u);
}

TEST_F(GsiTest, MalformedMessagesAreCounted) {
  const std::array<std::byte, wire::kMadSize> nothing{};
  gsi_.OnMad(nothing, {kPeer, kOwn, QpNumber(0x6001)}, now_);
  EXPECT_FALSE(gsi_.has_datagrams());
  EXPECT_EQ(gsi_.counters().malformed, 1u);
}

TEST_F(GsiTest, ARequestWithoutAddressesIsRefused) {
  const CmEnd& listener = Listener();
  wire::CmReq req = Req(listener, 0x10, 1);
  req.private_data = {};
  Arrives(req);
  EXPECT_EQ(Sent<wire::CmRej>().reason, wire::CmRejectReason::kUnsupported);
  EXPECT_FALSE(Event());
}

TEST_F(GsiTest, AnEventOfAnUntakenRequestIsNotLost) {
  const CmEnd& listener = Listener();
  Arrives(Req(listener, 0x10, 1));
  wire::CmRej rej{.local_comm_id = wire::CommId(1), .reason = wire::CmRejectReason::kTimeout};
  rej.info.bytes[7] = std::byte{3};  // the GUID
  rej.info_length = 8;
  Arrives(rej);
  const CmEvent request = *Event();
  EXPECT_FALSE(Event());
  int child = 0;
  ASSERT_TRUE(gsi_.Take(request, queue_, &child));
  const auto event = Event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, CmEventType::kRejected);
  EXPECT_EQ(event->user, &child);
  EXPECT_FALSE(gsi_.Take(request, queue_, &child));
}

TEST_F(GsiTest, RequestsForAFullMailboxAreForwardedLater) {
  // A second Gsi acts as another process.
  CmEventQueue queue{std::move(*EventFile::Open(true))};
  Gsi other{Options()};
  CmEnd& listener = **other.Create(queue, PortSpace::kTcp, nullptr);
  ASSERT_TRUE(other.Bind(listener, {.ip = kAny}, false, false));
  constexpr uint32_t kRequests = 100;
  ASSERT_TRUE(other.Listen(listener, kRequests, now_));
  for (uint32_t i = 0; i < kRequests; ++i) Arrives(Req(listener, 0x10 + i, 1 + i));
  EXPECT_EQ(gsi_.counters().mads_forwarded, kRequests);
  for (uint32_t tries = 0; gsi_.next_time() != Time::Never(); ++tries) {
    ASSERT_LT(tries, kRequests);
    other.OnMailbox(now_);
    now_ = gsi_.next_time();
    gsi_.OnTime(now_);
  }
  other.OnMailbox(now_);
  EXPECT_EQ(other.counters().requests_received, kRequests);
}

// The server has bound the port, and is about to listen: the request arrives in its own mailbox.
TEST_F(GsiTest, ARequestBeforeItsListenerIsTakenWhenItListens) {
  CmEnd& end = Bound();
  Arrives(Req(end, 0x55, 1));
  gsi_.OnMailbox(now_);
  EXPECT_FALSE(gsi_.has_datagrams());
  ASSERT_TRUE(gsi_.Listen(end, 4, now_));
  EXPECT_EQ(Event()->type, CmEventType::kConnectRequest);
  EXPECT_EQ(gsi_.counters().refused_no_listener, 0u);
}

TEST_F(GsiTest, ASidrRequestWaitsForItsListenerToo) {
  CmEnd& end = Bound(PortSpace::kUdp);
  ConnectionParameters parameters;
  parameters.service = CmService::kUd;
  wire::CmSidrReq req = SidrRequestOf(parameters, {PortSpace::kUdp, end.local.port},
                                      {.source_port = 9, .source = kPeer, .destination = kOwn});
  req.request_id = wire::SidrRequestId(1);
  Arrives(req);
  gsi_.OnMailbox(now_);
  EXPECT_FALSE(gsi_.has_datagrams());
  ASSERT_TRUE(gsi_.Listen(end, 4, now_));
  EXPECT_EQ(Event()->type, CmEventType::kSidrRequest);
}

TEST_F(GsiTest, ARequestForAListenerInAnotherProcessIsForwardedWhenItListens) {
  CmEnd& unbound = **gsi_.Create(queue_, PortSpace::kTcp, &user_);
  unbound.local.port = 20'007;
  Arrives(Req(unbound, 0x55, 1));
  EXPECT_FALSE(gsi_.has_datagrams());
  CmEventQueue queue{std::move(*EventFile::Open(true))};
  Gsi other{Options()};
  CmEnd& listener = **other.Create(queue, PortSpace::kTcp, nullptr);
  ASSERT_TRUE(other.Bind(listener, {.ip = kAny, .port = 20'007}, false, false));
  ASSERT_TRUE(other.Listen(listener, 4, now_));
  RunUntilIdle(Milliseconds(2));
  EXPECT_EQ(gsi_.counters().mads_forwarded, 1u);
  other.OnMailbox(now_);
  EXPECT_EQ(other.counters().requests_received, 1u);
}

TEST_F(GsiTest, ARequestWithoutAListenerIsRefusedAfterAWait) {
  CmEnd& end = Bound();
  Arrives(Req(end, 0x55, 1));
  gsi_.OnMailbox(now_);
  ExpectRefusedAfter(EarlyRequests::kListenLikely);
}

TEST_F(GsiTest, ARequestForAnUnboundPortIsRefusedSooner) {
  CmEnd& unbound = **gsi_.Create(queue_, PortSpace::kTcp, &user_);
  unbound.local.port = 20'007;
  Arrives(Req(unbound, 0x55, 1));
  ExpectRefusedAfter(EarlyRequests::kListenSoon);
}

// A server of perftest ends its first listener and makes a second one.
TEST_F(GsiTest, ARequestForAListenerThatHasJustEndedWaitsForTheNext) {
  constexpr uint16_t kPort = 20'008;  // of no block: the end of its listener frees it
  CmEnd& first = **gsi_.Create(queue_, PortSpace::kTcp, &user_);
  ASSERT_TRUE(gsi_.Bind(first, {.ip = kAny, .port = kPort}, false, false));
  ASSERT_TRUE(gsi_.Listen(first, 4, now_));
  Arrives(Req(first, 0x10, 1));
  const CmEvent request = *Event();
  ASSERT_TRUE(gsi_.Take(request, queue_, &user_));
  const wire::CmReq second = Req(first, 0x55, 2);
  gsi_.Destroy(first, now_);
  Arrives(second);
  gsi_.OnMailbox(now_);
  RunUntilIdle(EarlyRequests::kListenLikely - Milliseconds(1));
  EXPECT_EQ(gsi_.counters().refused_no_listener, 0u);
  CmEnd& again = **gsi_.Create(queue_, PortSpace::kTcp, &user_);
  ASSERT_TRUE(gsi_.Bind(again, {.ip = kAny, .port = kPort}, false, false));
  ASSERT_TRUE(gsi_.Listen(again, 4, now_));
  EXPECT_EQ(gsi_.counters().requests_received, 2u);
}

TEST_F(GsiTest, RequestsThatWaitForAListenerAreBounded) {
  CmEnd& unbound = **gsi_.Create(queue_, PortSpace::kTcp, &user_);
  unbound.local.port = 7;  // no process has this port
  for (uint32_t id = 1; id <= 256; ++id) Arrives(Req(unbound, 0x55 + id, id));
  EXPECT_FALSE(gsi_.has_datagrams());
  Arrives(Req(unbound, 0x54, 1000));
  EXPECT_EQ(Sent<wire::CmRej>().remote_comm_id, wire::CommId(1000));
  RunUntilIdle(Milliseconds(50));
  EXPECT_EQ(sent_, 256u);
}

TEST_F(GsiTest, DestroyedIdsLeaveNothingBehind) {
  CmEnd& listener = Listener();
  Arrives(Req(listener, 0x10, 1));
  gsi_.Destroy(listener, now_);
  EXPECT_EQ(Sent<wire::CmRej>().reason, wire::CmRejectReason::kConsumer);
  EXPECT_FALSE(Event());
  CmEnd& connecting = Connecting();
  gsi_.datagrams().clear();
  gsi_.Destroy(connecting, now_);
  EXPECT_EQ(Sent<wire::CmRej>().reason, wire::CmRejectReason::kTimeout);
  RunUntilIdle(Seconds(200));
  EXPECT_FALSE(Event());
  EXPECT_EQ(gsi_.next_time(), Time::Never());
  EXPECT_TRUE(gsi_.IsConsistent());
}

}  // namespace
}  // namespace verbena::adapter
