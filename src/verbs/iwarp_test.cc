// Queue pairs of an iWARP device, connected by the connection manager, over TCP and SCTP of this
// machine.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"
#include "verbena/connection_manager.h"

namespace verbena {
namespace {

const IpAddress kIpv4 = IpAddress::FromIpv4(127, 0, 0, 1);

Options IwarpTestOptions(TransportType transport = TransportType::kIwarp) {
  Options options = VerbsTestOptions();
  options.transport = transport;
  return options;
}

CmPrivateData Data(std::string_view text) {
  CmPrivateData data;
  for (const char c : text) data.bytes[data.size++] = static_cast<std::byte>(c);
  return data;
}

std::string_view TextOf(const CmPrivateData& data) {
  return {reinterpret_cast<const char*>(data.bytes.data()), data.size};
}

// A program on an iWARP device: a queue pair in INIT, and a channel.
struct IwarpNode : VerbsNode {
  explicit IwarpNode(const Options& options) : VerbsNode("127.0.0.1", options) {
    Good(qp.Prepare());
  }

  CmEvent Next() const {
    pollfd file{.fd = channel.fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&file, 1, 20'000), 1) << "no event in time";
    if (file.revents == 0) return {.type = CmEventType::kPosted};
    return channel.Wait().value_or(CmEvent{.type = CmEventType::kPosted});
  }
  CmId MakeId() const { return Good(CmId::Create(context, channel, PortSpace::kTcp, nullptr)); }
  ConnectionParameters Parameters(std::string_view data = {}) const {
    ConnectionParameters parameters;
    parameters.qp = qp.number();
    parameters.responder_resources = 3;
    parameters.initiator_depth = 4;
    parameters.private_data = Data(data);
    return parameters;
  }
  void PostReceive(size_t offset, uint32_t length, uint64_t id = 7) const {
    EXPECT_TRUE(qp.Post(Receive{.id = WrId(id), .data = region.Local(offset, length)}));
  }
  QpState state() const { return Good(qp.Query()).state; }

  CmChannel channel = Good(CmChannel::Create());
  QueuePair qp = MakeQp();
};

std::string NameOf(const testing::TestParamInfo<TransportType>& info) {
  return info.param == TransportType::kIwarp ? "Tcp" : "Sctp";
}

class IwarpTest : public testing::TestWithParam<TransportType> {
 protected:
  explicit IwarpTest(uint8_t revision = 2) : client(OptionsOf(revision)) {
    EXPECT_TRUE(listener.Bind({.ip = kIpv4}));
    EXPECT_TRUE(listener.Listen(8));
  }
  // Of a node whose requests have that revision.
  static Options OptionsOf(uint8_t revision) {
    Options options = IwarpTestOptions(GetParam());
    options.mpa_revision = revision;
    return options;
  }
  // The request has arrived, and the server has taken it.
  CmEvent Ask(std::string_view data = "hello") {
    EXPECT_TRUE(at_client.Connect(kIpv4, listener.local(), client.Parameters(data)));
    const CmEvent request = server.Next();
    EXPECT_EQ(request.type, CmEventType::kConnectRequest);
    at_server = Good(CmId::Take(server.context, server.channel, request, nullptr));
    return request;
  }
  void Connect() {
    Ask();
    ASSERT_TRUE(at_server.Accept(server.Parameters("welcome")));
    EXPECT_EQ(server.Next().type, CmEventType::kEstablished);
    EXPECT_EQ(client.Next().type, CmEventType::kConnectResponse);
    ASSERT_TRUE(at_client.Establish());
  }

  IwarpNode server{IwarpTestOptions(GetParam())};
  IwarpNode client;
  CmId listener = server.MakeId();
  CmId at_client = client.MakeId();
  CmId at_server;
};

INSTANTIATE_TEST_SUITE_P(Wires, IwarpTest,
                         testing::Values(TransportType::kIwarp, TransportType::kIwarpSctp), NameOf);

TEST_P(IwarpTest, BothEndsLearnWhatTheOtherSays) {
  const CmEvent request = Ask();
  EXPECT_EQ(request.local, listener.local());
  EXPECT_EQ(request.remote, at_client.local());
  EXPECT_EQ(request.peer.responder_resources, 3);
  EXPECT_EQ(request.peer.initiator_depth, 4);
  EXPECT_EQ(TextOf(request.peer.private_data), "hello");
  ASSERT_TRUE(at_server.Accept(server.Parameters("welcome")));
  EXPECT_EQ(server.Next().type, CmEventType::kEstablished);
  const CmEvent response = client.Next();
  EXPECT_EQ(response.type, CmEventType::kConnectResponse);
  EXPECT_EQ(TextOf(response.peer.private_data), "welcome");
  EXPECT_EQ(response.peer.responder_resources, 3);
  ASSERT_TRUE(at_client.Establish());
  EXPECT_EQ(client.state(), QpState::kRts);
  EXPECT_EQ(server.state(), QpState::kRts);
  // Neither sends more reads than the other serves.
  EXPECT_EQ(Good(client.qp.Query()).attributes.max_rd_atomic, 3);
}

TEST_P(IwarpTest, MessagesGoBothWays) {
  Connect();
  for (const bool from_server : {true, false}) {
    IwarpNode& from = from_server ? server : client;
    IwarpNode& to = from_server ? client : server;
    from.Fill(0, 30'000, 5);
    to.PostReceive(32'768, 30'000);
    const Sge sge = from.region.Local(0, 30'000);
    ASSERT_TRUE(from.qp.Post(Send{.data = sge}));
    EXPECT_EQ(from.WaitStatus(), CompletionStatus::kSuccess);
    const auto received = to.Wait();
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->status, CompletionStatus::kSuccess);
    EXPECT_EQ(received->byte_count, 30'000u);
    EXPECT_TRUE(to.Holds(32'768, 30'000, 5));
  }
}

TEST_P(IwarpTest, WritesAndReadsReachMemory) {
  Connect();
  client.Fill(0, 50'000, 9);
  const Sge out = client.region.Local(0, 50'000);
  ASSERT_TRUE(client.qp.Post(Write{.data = out, .remote = server.region.Remote()}));
  EXPECT_EQ(client.WaitStatus(), CompletionStatus::kSuccess);
  const Sge in = client.region.Local(0, 50'000);
  std::memset(client.memory.data(), 0, 50'000);
  ASSERT_TRUE(client.qp.Post(Read{.data = in, .remote = server.region.Remote()}));
  EXPECT_EQ(client.WaitStatus(), CompletionStatus::kSuccess);
  EXPECT_TRUE(client.Holds(0, 50'000, 9));
  EXPECT_TRUE(server.Holds(0, 50'000, 9));
}

TEST_P(IwarpTest, ManyMessagesAreMoreThanTheBuffersHold) {
  Connect();
  constexpr int kMessages = 2'000;
  const Sge out = client.region.Local(0, 8'192);
  int posted = 0, done = 0;
  while (done < kMessages) {
    while (posted < kMessages && posted - done < 64 &&
           client.qp.Post(Write{.data = out, .remote = server.region.Remote()})) {
      ++posted;
    }
    ASSERT_EQ(client.WaitStatus(), CompletionStatus::kSuccess);
    ++done;
  }
  // The response to a read is behind the writes.
  ASSERT_TRUE(
      client.qp.Post(Read{.data = client.region.Local(0, 8), .remote = server.region.Remote()}));
  EXPECT_EQ(client.WaitStatus(), CompletionStatus::kSuccess);
  const QpCounters counters = Good(client.qp.Query()).counters;
  EXPECT_GT(counters.bytes_sent, uint64_t{kMessages} * 8'192);
  EXPECT_GE(counters.packets_sent, uint64_t{kMessages});
}

// The stream that was ready last is read first: that must not hide others.
TEST_P(IwarpTest, AStreamThatNeverRestsDoesNotKeepOthersWaiting) {
  Connect();
  std::atomic<bool> ends = false;
  std::jthread writer([&] {
    const Sge out = client.region.Local(0, 32'768);
    while (!ends) {
      ASSERT_TRUE(client.qp.Post(Write{.data = out, .remote = server.region.Remote()}));
      ASSERT_EQ(client.WaitStatus(), CompletionStatus::kSuccess);
    }
  });
  const IwarpNode other(IwarpTestOptions(GetParam()));
  CmId at_other = other.MakeId();
  EXPECT_TRUE(at_other.Connect(kIpv4, listener.local(), other.Parameters()));
  EXPECT_EQ(server.Next().type, CmEventType::kConnectRequest);
  ends = true;
}

// Bytes that meet absent pages stay in the stream until the pages are there; none are lost.
TEST_P(IwarpTest, WritesToAbsentPagesWaitForThem) {
  Connect();
  constexpr size_t kChunk = 65'536, kChunks = 64;
  auto* const fresh = static_cast<std::byte*>(
      mmap(nullptr, kChunk * kChunks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(fresh), MAP_FAILED);
  const auto region =
      Good(MemoryRegion::Register(server.domain, {fresh, kChunk * kChunks}, Access::kAll));
  client.Fill(0, kChunk, 3);
  for (size_t i = 0; i < kChunks; ++i) {
    ASSERT_TRUE(client.qp.Post(
        Write{.data = client.region.Local(0, kChunk), .remote = region.Remote(i * kChunk)}));
  }
  for (size_t i = 0; i < kChunks; ++i) {
    ASSERT_EQ(client.WaitStatus(), CompletionStatus::kSuccess);
  }
  // The response to a read is behind the writes.
  ASSERT_TRUE(client.qp.Post(Read{.data = client.region.Local(0, 8), .remote = region.Remote()}));
  EXPECT_EQ(client.WaitStatus(), CompletionStatus::kSuccess);
  for (size_t i = 0; i < kChunks; ++i) {
    EXPECT_EQ(std::memcmp(fresh + i * kChunk, client.memory.data(), kChunk), 0) << i;
  }
  EXPECT_GT(Good(server.qp.Query()).counters.page_requests, 0u);
  munmap(fresh, kChunk * kChunks);
}

TEST_P(IwarpTest, EitherEndDisconnects) {
  Connect();
  server.PostReceive(0, 64);
  ASSERT_TRUE(at_client.Disconnect());
  EXPECT_EQ(server.Next().type, CmEventType::kDisconnected);
  EXPECT_EQ(client.Next().type, CmEventType::kDisconnected);
  EXPECT_EQ(server.WaitStatus(), CompletionStatus::kFlushed);
  EXPECT_EQ(server.state(), QpState::kErr);
  EXPECT_EQ(client.state(), QpState::kErr);
}

// What was sent before the end arrives.
TEST_P(IwarpTest, TheLastMessageArrivesBeforeTheEnd) {
  Connect();
  server.PostReceive(0, 16);
  const Sge sge = client.region.Local(0, 16);
  ASSERT_TRUE(client.qp.Post(Send{.data = sge}));
  EXPECT_EQ(client.WaitStatus(), CompletionStatus::kSuccess);
  client.qp = QueuePair();
  EXPECT_EQ(server.WaitStatus(), CompletionStatus::kSuccess);
  EXPECT_EQ(server.Next().type, CmEventType::kDisconnected);
}

TEST_P(IwarpTest, ARejectionHasData) {
  Ask();
  ASSERT_TRUE(at_server.Reject(Data("no")));
  const CmEvent event = client.Next();
  EXPECT_EQ(event.type, CmEventType::kRejected);
  EXPECT_EQ(event.reason, 28);
  EXPECT_EQ(TextOf(event.peer.private_data), "no");
}

TEST_P(IwarpTest, APortWithoutListenerIsRefused) {
  const CmAddress there = listener.local();
  listener = CmId();
  ASSERT_TRUE(at_client.Connect(kIpv4, there, client.Parameters()));
  const CmEvent event = client.Next();
  EXPECT_EQ(event.type, CmEventType::kRejected);
  EXPECT_EQ(event.reason, 8);
}

TEST_P(IwarpTest, RequestsThatWaitAreRejectedWithTheListener) {
  ASSERT_TRUE(at_client.Connect(kIpv4, listener.local(), client.Parameters()));
  pollfd file{.fd = server.channel.fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&file, 1, 20'000), 1);
  listener = CmId();
  EXPECT_EQ(client.Next().type, CmEventType::kRejected);
}

TEST_P(IwarpTest, AMessageWithoutAReceiveRequestEndsTheConnection) {
  Connect();
  const Sge sge = client.region.Local(0, 16);
  ASSERT_TRUE(client.qp.Post(Send{.data = sge}));
  EXPECT_EQ(client.Next().type, CmEventType::kDisconnected);
  EXPECT_EQ(server.Next().type, CmEventType::kDisconnected);
  EXPECT_EQ(server.state(), QpState::kErr);
}

TEST_P(IwarpTest, AQueuePairIsConnectedByTheConnectionManagerAlone) {
  QpAttributes ready;
  ready.state = QpState::kRtr;
  ready.path = AddressVector{.source = kIpv4, .destination = kIpv4};
  ready.path_mtu = PathMtu::k1024;
  ready.remote_qp = server.qp.number();
  ready.rq_psn = Psn(1);
  ready.max_dest_rd_atomic = 1;
  ready.min_rnr_timer = 1;
  EXPECT_EQ(CodeOf(client.qp.Modify(ready)), ErrorCode::kInvalid);
  EXPECT_EQ(client.state(), QpState::kInit);
}

TEST_P(IwarpTest, OtherTypesOfQueuePairsAreRefused) {
  for (const QpType type : {QpType::kUc, QpType::kUd, QpType::kXrcSend}) {
    EXPECT_EQ(CodeOf(QueuePair::Create(client.domain, client.Spec(type))),
              ErrorCode::kNotSupported);
  }
  EXPECT_EQ(CodeOf(CmId::Create(client.context, client.channel, PortSpace::kUdp, nullptr)),
            ErrorCode::kNotSupported);
}

TEST_P(IwarpTest, APortIsOneOfTheSystem) {
  CmId second = client.MakeId();
  const auto bound = second.Bind(listener.local());
  ASSERT_FALSE(bound.has_value());
  EXPECT_EQ(bound.error().os_error, EADDRINUSE);
}

// A queue pair that was reset is connected again.
TEST_P(IwarpTest, AQueuePairCanBeConnectedAgain) {
  Connect();
  ASSERT_TRUE(at_client.Disconnect());
  EXPECT_EQ(server.Next().type, CmEventType::kDisconnected);
  EXPECT_EQ(client.Next().type, CmEventType::kDisconnected);
  for (IwarpNode* const node : {&server, &client}) {
    QpAttributes reset;
    reset.state = QpState::kReset;
    ASSERT_TRUE(node->qp.Modify(reset));
    ASSERT_TRUE(node->qp.Prepare());
  }
  at_client = client.MakeId();
  Connect();
  server.PostReceive(0, 16);
  const Sge sge = client.region.Local(0, 16);
  ASSERT_TRUE(client.qp.Post(Send{.data = sge}));
  EXPECT_EQ(server.WaitStatus(), CompletionStatus::kSuccess);
}

// Revision 1: nothing says that the connecting side is ready.
class IwarpOldPeerTest : public IwarpTest {
 protected:
  IwarpOldPeerTest() : IwarpTest(1) {}
};

INSTANTIATE_TEST_SUITE_P(Wires, IwarpOldPeerTest,
                         testing::Values(TransportType::kIwarp, TransportType::kIwarpSctp), NameOf);

// RFC 5044, 7.1.2: it waits for the first frame. For ever would end both if the program has the
// server begin. Over SCTP it need not wait.
TEST_P(IwarpOldPeerTest, TheServerMaySendFirst) {
  Connect();
  client.PostReceive(0, 16);
  const Sge sge = server.region.Local(0, 16);
  ASSERT_TRUE(server.qp.Post(Send{.data = sge}));
  EXPECT_EQ(client.WaitStatus(), CompletionStatus::kSuccess);
}

// A peer that sees the bytes of the request (RFC 5044, 7.1): a plain socket that listens.
class IwarpRequestTest : public testing::Test {
 protected:
  static constexpr std::byte kCrc{0x40}, kEnhanced{0x10};  // of the flags

  IwarpRequestTest() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(bind(listener_, address, size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, address, &size), 0);
    port_ = ntohs(at.sin_port);
  }
  ~IwarpRequestTest() override { close(listener_); }

  // Flags and revision.
  std::array<std::byte, 2> RequestOf(const Options& options) const {
    const IwarpNode node(options);
    CmId id = node.MakeId();
    EXPECT_TRUE(id.Connect(kIpv4, {.ip = kIpv4, .port = port_}, node.Parameters()));
    const int peer = accept(listener_, nullptr, nullptr);
    std::array<std::byte, 20> header{};
    EXPECT_EQ(recv(peer, header.data(), header.size(), MSG_WAITALL), 20);
    close(peer);
    return {header[16], header[17]};
  }

 private:
  const int listener_ = socket(AF_INET, SOCK_STREAM, 0);
  uint16_t port_ = 0;
};

TEST_F(IwarpRequestTest, HasTheChosenRevision) {
  Options options = IwarpTestOptions();
  EXPECT_EQ(RequestOf(options), (std::array{kCrc | kEnhanced, std::byte{2}}));
  options.mpa_revision = 1;
  EXPECT_EQ(RequestOf(options), (std::array{kCrc, std::byte{1}}));
  options.mpa_revision = 3;
  EXPECT_EQ(CodeOf(Context::Open(options)), ErrorCode::kInvalid);
}

TEST_F(IwarpRequestTest, NeedNotWantACrc) {
  Options options = IwarpTestOptions();
  options.mpa_crc = false;
  EXPECT_EQ(RequestOf(options), (std::array{kEnhanced, std::byte{2}}));
}

}  // namespace
}  // namespace verbena
