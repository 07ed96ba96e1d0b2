// Which connection of a port carries RDMA, iSCSI or plain bytes.

#include <cerrno>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/plain_stream_world.h"

namespace verbena {
namespace {

class StreamKindsTest : public PlainStreamWorld {};

TEST_F(StreamKindsTest, OnePortServesAllThree) {
  Listen({.rdma = true, .iscsi = true, .plain = true, .silence = std::chrono::seconds(60)});
  // A client that speaks first.
  const PlainSocket web = PlainSocket::To(port());
  web.Say("GET / HTTP/1.0\r\n\r\n");
  const CmEvent plain = Next();
  EXPECT_EQ(plain.stream, StreamKind::kPlain);
  EXPECT_EQ(plain.peer.service, CmService::kStream);
  // An iSCSI initiator: its login is handed over with its first bytes.
  const std::string login = std::string("\x43\x87\0\0\0\0\x01\x2c", 8) + Text(40, 1);
  const PlainSocket initiator = PlainSocket::To(port());
  initiator.Say(login);
  const CmEvent iscsi = Next();
  EXPECT_EQ(iscsi.stream, StreamKind::kIscsi);
  // An RDMA client.
  QueuePair rc = MakeQp();
  Good(rc.Prepare());
  ConnectionParameters parameters;
  parameters.qp = rc.number();
  CmId client = Good(CmId::Create(context, channel_, PortSpace::kTcp, nullptr));
  ASSERT_TRUE(client.Connect(kLocalhost, listener_.local(), parameters));
  const CmEvent rdma = Next();
  EXPECT_EQ(rdma.stream, StreamKind::kRdma);
  EXPECT_EQ(rdma.peer.service, CmService::kRc);

  CmId id = Good(CmId::Take(context, channel_, iscsi, nullptr));
  Good(id.Accept(Parameters()));
  PostReceive(0, 48, true);
  EXPECT_EQ(WaitBytes(), 48u);
  EXPECT_EQ(Bytes(0, 48), login);
  const CmUseCounters seen = counters();
  EXPECT_EQ(seen.requests_received, 3u);
  EXPECT_EQ(seen.plain_streams, 1u);
  EXPECT_EQ(seen.iscsi_streams, 1u);
}

// Those whose server speaks first.
TEST_F(StreamKindsTest, ASilentClientIsPlainAfterAWhile) {
  Listen({.rdma = true, .plain = true, .silence = std::chrono::milliseconds(50)});
  const PlainSocket silent = PlainSocket::To(port());
  const PlainSocket undecided = PlainSocket::To(port());
  undecided.Say("MPA ID");
  EXPECT_EQ(Next().stream, StreamKind::kPlain);
  const CmEvent second = Next();
  EXPECT_EQ(second.stream, StreamKind::kPlain);
  id_ = Good(CmId::Take(context, channel_, second, nullptr));
  Good(id_.Accept(Parameters()));
  PostReceive(0, 6, true);
  EXPECT_EQ(WaitBytes(), 6u);
  EXPECT_EQ(Bytes(0, 6), "MPA ID");
}

TEST_F(StreamKindsTest, AClientThatOnlyEndsIsPlain) {
  Listen({.rdma = true, .plain = true, .silence = std::chrono::seconds(60)});
  const PlainSocket peer = PlainSocket::To(port());
  peer.End();
  EXPECT_EQ(Serve().stream, StreamKind::kPlain);
  PostReceive(0, 10);
  EXPECT_EQ(WaitBytes(), 0u);
  Put(0, "hello");
  PostSend(0, 5);
  EXPECT_EQ(peer.Hear(5), "hello");
}

TEST_F(StreamKindsTest, APlainRequestIsRejectedByAReset) {
  Listen();
  const PlainSocket peer = PlainSocket::To(port());
  id_ = Good(CmId::Take(context, channel_, Next(), nullptr));
  ASSERT_TRUE(id_.Reject({}));
  EXPECT_EQ(peer.HearMore(), -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_EQ(counters().rejected, 1u);
}

TEST_F(StreamKindsTest, AnIscsiRequestIsRejectedByALoginResponse) {
  Listen({.rdma = false, .iscsi = true});
  const PlainSocket initiator = PlainSocket::To(port());
  initiator.Say(std::string("\x43\x87\0\0\0\0\x01\x2c", 8) + Text(40, 1));
  id_ = Good(CmId::Take(context, channel_, Next(), nullptr));
  ASSERT_TRUE(id_.Reject({}));
  id_ = CmId();
  const std::string response = initiator.Hear(48);
  EXPECT_EQ(response[0], '\x23');
  EXPECT_EQ(response.substr(36, 2), "\x03\x01");
  EXPECT_EQ(initiator.HearMore(), 0);
}

TEST_F(StreamKindsTest, RequestsThatWaitAreResetWithTheListener) {
  Listen();
  const PlainSocket peer = PlainSocket::To(port());
  EXPECT_EQ(Next().type, CmEventType::kConnectRequest);
  listener_ = CmId();
  EXPECT_EQ(peer.HearMore(), -1);
}

}  // namespace
}  // namespace verbena
