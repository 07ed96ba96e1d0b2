#include "verbena/connection_manager.h"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

const IpAddress kIpv4 = IpAddress::FromIpv4(127, 0, 0, 1);
const IpAddress kAny = IpAddress::FromIpv4(0, 0, 0, 0);

CmPrivateData Data(std::string_view text) {
  CmPrivateData data;
  for (const char c : text) data.bytes[data.size++] = static_cast<std::byte>(c);
  return data;
}

bool Begins(const CmPrivateData& data, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (data.bytes[i] != static_cast<std::byte>(text[i])) return false;
  }
  return data.size >= text.size();
}

// A process that uses the connection manager: an adapter and a channel.
struct CmNode {
  explicit CmNode(const Options& options = VerbsTestOptions())
      : context(Good(Context::Open(options))), channel(Good(CmChannel::Create())) {}

  CmId MakeId(void* user = nullptr, PortSpace space = PortSpace::kTcp) const {
    return Good(CmId::Create(context, channel, space, user));
  }
  CmId Listener(void* user = nullptr, PortSpace space = PortSpace::kTcp,
                uint32_t backlog = 8) const {
    CmId id = MakeId(user, space);
    EXPECT_TRUE(id.Bind({.ip = kAny}));
    EXPECT_TRUE(id.Listen(backlog));
    return id;
  }
  // The next event. Fails the test after the timeout.
  CmEvent Next(int milliseconds = 20'000) const {
    pollfd file{.fd = channel.fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&file, 1, milliseconds), 1);
    if (file.revents == 0) return {.type = CmEventType::kPosted};
    const auto event = channel.Wait();
    EXPECT_TRUE(event.has_value());
    return event.value_or(CmEvent{});
  }
  bool HasNone(int milliseconds = 50) const {
    pollfd file{.fd = channel.fd(), .events = POLLIN, .revents = 0};
    return poll(&file, 1, milliseconds) == 0;
  }

  Context context;
  CmChannel channel;
};

ConnectionParameters Parameters(uint32_t qp, std::string_view data = {}) {
  ConnectionParameters parameters;
  parameters.qp = QpNumber(qp);
  parameters.psn = Psn(qp + 1);
  parameters.responder_resources = 3;
  parameters.initiator_depth = 4;
  parameters.mtu = PathMtu::k2048;
  parameters.private_data = Data(data);
  return parameters;
}

// Whether both ends are in one process, or in two, of which one has the RoCEv2 port and forwards
// requests to the other.
enum class Processes { kOne, kTwoServerFirst, kTwoClientFirst };

class ConnectionManagerTest : public testing::TestWithParam<Processes> {
 protected:
  void SetUp() override {
    if (GetParam() == Processes::kTwoClientFirst) client.emplace();
    server.emplace(GetParam() == Processes::kOne ? SharedAdapterOptions() : VerbsTestOptions());
    if (!client) client.emplace(server->context.options());
  }

  // A connection request of the client that the server has received.
  struct Requested {
    CmId client;
    CmId server;
    CmEvent event;
  };
  Requested Ask(const CmId& listener, uint32_t qp = 0x100, std::string_view data = "hello") {
    Requested asked;
    asked.client = client->MakeId(&client_user);
    EXPECT_TRUE(asked.client.Bind({.ip = kAny}));
    EXPECT_TRUE(asked.client.Connect(kIpv4, {.ip = kIpv4, .port = listener.local().port},
                                     Parameters(qp, data)));
    asked.event = server->Next();
    EXPECT_EQ(asked.event.type, CmEventType::kConnectRequest);
    asked.server = Good(CmId::Take(server->context, server->channel, asked.event, &server_user));
    return asked;
  }
  Requested Connected(const CmId& listener, uint32_t qp = 0x100) {
    Requested asked = Ask(listener, qp);
    EXPECT_TRUE(asked.server.Accept(Parameters(qp + 0x100, "welcome")));
    EXPECT_EQ(client->Next().type, CmEventType::kConnectResponse);
    EXPECT_TRUE(asked.client.Establish());
    EXPECT_EQ(server->Next().type, CmEventType::kEstablished);
    return asked;
  }

  int listener_user = 0, client_user = 0, server_user = 0;
  std::optional<CmNode> server, client;
};

INSTANTIATE_TEST_SUITE_P(Of, ConnectionManagerTest,
                         testing::Values(Processes::kOne, Processes::kTwoServerFirst,
                                         Processes::kTwoClientFirst));

TEST_P(ConnectionManagerTest, PrivateDataAndParametersReachBothEnds) {
  const CmId listener = server->Listener(&listener_user);
  Requested asked = Ask(listener);
  EXPECT_EQ(asked.event.user, &listener_user);
  EXPECT_EQ(asked.event.local, (CmAddress{.ip = kIpv4, .port = listener.local().port}));
  EXPECT_EQ(asked.event.remote, (CmAddress{.ip = kIpv4, .port = asked.client.local().port}));
  EXPECT_EQ(asked.event.peer.qp, QpNumber(0x100));
  EXPECT_EQ(asked.event.peer.psn, Psn(0x101));
  EXPECT_EQ(asked.event.peer.responder_resources, 3);
  EXPECT_EQ(asked.event.peer.initiator_depth, 4);
  EXPECT_EQ(asked.event.peer.mtu, PathMtu::k2048);
  EXPECT_TRUE(Begins(asked.event.peer.private_data, "hello"));
  EXPECT_EQ(asked.event.peer.private_data.size, 56);
  ASSERT_TRUE(asked.server.Accept(Parameters(0x200, "welcome")));
  const CmEvent response = client->Next();
  EXPECT_EQ(response.type, CmEventType::kConnectResponse);
  EXPECT_EQ(response.user, &client_user);
  EXPECT_EQ(response.peer.qp, QpNumber(0x200));
  EXPECT_TRUE(Begins(response.peer.private_data, "welcome"));
  ASSERT_TRUE(asked.client.Establish());
  const CmEvent established = server->Next();
  EXPECT_EQ(established.type, CmEventType::kEstablished);
  EXPECT_EQ(established.user, &server_user);
}

TEST_P(ConnectionManagerTest, EitherEndDisconnects) {
  const CmId listener = server->Listener();
  for (const bool by_server : {false, true}) {
    Requested asked = Connected(listener, by_server ? 0x300 : 0x500);
    ASSERT_TRUE((by_server ? asked.server : asked.client).Disconnect(Data("bye")));
    CmNode& other = by_server ? *client : *server;
    const CmEvent event = other.Next();
    EXPECT_EQ(event.type, CmEventType::kDisconnected);
    EXPECT_TRUE(Begins(event.peer.private_data, "bye"));
    ASSERT_TRUE((by_server ? asked.client : asked.server).Disconnect());
    EXPECT_EQ((by_server ? *server : *client).Next().type, CmEventType::kDisconnected);
    // Both ends get an event when their queue pairs can be reused.
    EXPECT_EQ(server->Next().type, CmEventType::kTimewaitExit);
    EXPECT_EQ(client->Next().type, CmEventType::kTimewaitExit);
  }
  EXPECT_TRUE(server->HasNone());
  EXPECT_TRUE(client->HasNone());
}

TEST_P(ConnectionManagerTest, ARejectionHasAReasonAndData) {
  const CmId listener = server->Listener();
  Requested asked = Ask(listener);
  ASSERT_TRUE(asked.server.Reject(Data("no")));
  const CmEvent event = client->Next();
  EXPECT_EQ(event.type, CmEventType::kRejected);
  EXPECT_EQ(event.reason, 28);
  EXPECT_TRUE(Begins(event.peer.private_data, "no"));
}

TEST_P(ConnectionManagerTest, ARequestWithoutListenerIsRejected) {
  const CmId listener = server->Listener();  // makes a process bind the RoCEv2 port
  CmId id = client->MakeId();
  ASSERT_TRUE(id.Bind({.ip = kAny}));
  ASSERT_TRUE(id.Connect(kIpv4, {.ip = kIpv4, .port = 7}, Parameters(0x100)));
  const CmEvent event = client->Next();
  EXPECT_EQ(event.type, CmEventType::kRejected);
  EXPECT_EQ(event.reason, 8);
  EXPECT_EQ(Good(client->context.Query()).cm.refused_no_listener +
                Good(server->context.Query()).cm.refused_no_listener,
            GetParam() == Processes::kOne ? 2u : 1u);  // one adapter gets both requests
}

// Programs that make one connection after the other race: the client requests the next one while
// the server starts to listen.
TEST_P(ConnectionManagerTest, ARequestBeforeTheListenIsAccepted) {
  const CmId other = server->Listener();  // makes a process bind the RoCEv2 port
  CmId listener = server->MakeId();
  ASSERT_TRUE(listener.Bind({.ip = kAny}));
  CmId id = client->MakeId();
  ASSERT_TRUE(id.Bind({.ip = kAny}));
  ASSERT_TRUE(id.Connect(kIpv4, {.ip = kIpv4, .port = listener.local().port}, Parameters(0x100)));
  EXPECT_TRUE(client->HasNone(50));
  ASSERT_TRUE(listener.Listen(8));
  EXPECT_EQ(server->Next().type, CmEventType::kConnectRequest);
}

TEST_P(ConnectionManagerTest, DestroyingAListenerRejectsPendingRequests) {
  CmId listener = server->Listener();
  CmId id = client->MakeId();
  ASSERT_TRUE(id.Bind({.ip = kAny}));
  ASSERT_TRUE(id.Connect(kIpv4, {.ip = kIpv4, .port = listener.local().port}, Parameters(0x100)));
  pollfd file{.fd = server->channel.fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&file, 1, 20'000), 1);
  listener = CmId();
  EXPECT_EQ(client->Next().type, CmEventType::kRejected);
  EXPECT_TRUE(server->HasNone());
}

TEST_P(ConnectionManagerTest, RequestsBeyondTheBacklogAreRefused) {
  const CmId listener = server->Listener(nullptr, PortSpace::kTcp, 1);
  const CmAddress to{.ip = kIpv4, .port = listener.local().port};
  CmId first = client->MakeId(), second = client->MakeId();
  ASSERT_TRUE(first.Bind({.ip = kAny}));
  ASSERT_TRUE(second.Bind({.ip = kAny}));
  ASSERT_TRUE(first.Connect(kIpv4, to, Parameters(0x100)));
  ASSERT_TRUE(second.Connect(kIpv4, to, Parameters(0x101)));
  const CmEvent event = client->Next();
  EXPECT_EQ(event.type, CmEventType::kRejected);
  EXPECT_EQ(event.reason, 3);
  EXPECT_EQ(Good(server->context.Query()).cm.refused_full, 1u);
  EXPECT_EQ(server->Next().type, CmEventType::kConnectRequest);
}

TEST_P(ConnectionManagerTest, DatagramServicesAreFoundByPort) {
  const CmId listener = server->Listener(&listener_user, PortSpace::kUdp);
  CmId id = client->MakeId(&client_user, PortSpace::kUdp);
  ASSERT_TRUE(id.Bind({.ip = kAny}));
  ConnectionParameters ask;
  ask.service = CmService::kUd;
  ask.private_data = Data("who");
  ASSERT_TRUE(id.Connect(kIpv4, {.ip = kIpv4, .port = listener.local().port}, ask));
  const CmEvent request = server->Next();
  EXPECT_EQ(request.type, CmEventType::kSidrRequest);
  EXPECT_EQ(request.user, &listener_user);
  EXPECT_TRUE(Begins(request.peer.private_data, "who"));
  CmId answerer = Good(CmId::Take(server->context, server->channel, request, nullptr));
  ConnectionParameters answer;
  answer.qp = QpNumber(0x77);
  answer.qkey = QKey(0x1234567);
  answer.private_data = Data("me");
  ASSERT_TRUE(answerer.Accept(answer));
  const CmEvent response = client->Next();
  EXPECT_EQ(response.type, CmEventType::kSidrResponse);
  EXPECT_EQ(response.reason, 0);
  EXPECT_EQ(response.peer.qp, QpNumber(0x77));
  EXPECT_EQ(response.peer.qkey, QKey(0x1234567));
  EXPECT_TRUE(Begins(response.peer.private_data, "me"));
}

TEST_P(ConnectionManagerTest, EventsFollowTheIdToAnotherChannel) {
  const CmId listener = server->Listener();
  Requested asked = Ask(listener);
  ASSERT_TRUE(asked.server.Accept(Parameters(0x200)));
  pollfd file{.fd = client->channel.fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&file, 1, 20'000), 1);
  const CmChannel other = Good(CmChannel::Create());
  int user = 0;
  asked.client.set_user(&user);
  ASSERT_TRUE(asked.client.Migrate(other));
  EXPECT_TRUE(client->HasNone());
  const auto event = other.Wait();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, CmEventType::kConnectResponse);
  EXPECT_EQ(event->user, &user);
}

TEST_P(ConnectionManagerTest, RefusesInvalidCalls) {
  CmId id = client->MakeId();
  EXPECT_EQ(CodeOf(id.Listen(1)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(id.Accept({})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(id.Disconnect()), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(id.Establish()), ErrorCode::kInvalid);
  const auto elsewhere = id.Bind({.ip = IpAddress::FromIpv4(192, 0, 2, 1)});
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().os_error, EADDRNOTAVAIL);
  ASSERT_TRUE(id.Bind({.ip = kAny}));
  EXPECT_EQ(CodeOf(id.Bind({.ip = kAny})), ErrorCode::kInvalid);
  ConnectionParameters long_data = Parameters(1);
  long_data.private_data.size = 57;
  EXPECT_EQ(CodeOf(id.Connect(kIpv4, {.ip = kIpv4, .port = 1}, long_data)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(id.Connect(kIpv4, {.ip = IpAddress::Ipv6Loopback(), .port = 1}, Parameters(1))),
            ErrorCode::kInvalid);
}

TEST_P(ConnectionManagerTest, APortHasOneOwnerAmongAllProcesses) {
  const CmId listener = server->Listener();
  CmId id = client->MakeId();
  const auto bound = id.Bind({.ip = kIpv4, .port = listener.local().port});
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().os_error, EADDRINUSE);
}

TEST_P(ConnectionManagerTest, AWaitingThreadMakesProgress) {
  const CmId listener = server->Listener();
  std::thread waiter([&] {
    const auto event = server->channel.Wait();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, CmEventType::kConnectRequest);
  });
  CmId id = client->MakeId();
  ASSERT_TRUE(id.Bind({.ip = kAny}));
  ASSERT_TRUE(id.Connect(kIpv4, {.ip = kIpv4, .port = listener.local().port}, Parameters(0x100)));
  waiter.join();
}

TEST_P(ConnectionManagerTest, AChannelCanBeNonBlocking) {
  ASSERT_EQ(fcntl(client->channel.fd(), F_SETFL, O_NONBLOCK), 0);
  errno = 0;
  EXPECT_FALSE(client->channel.Wait());
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_TRUE(client->channel.Post(&client_user, 7));
  const auto event = client->channel.Wait();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, CmEventType::kPosted);
  EXPECT_EQ(event->user, &client_user);
  EXPECT_EQ(event->reason, 7);
  ASSERT_TRUE(client->channel.Post(&client_user, 7));
  client->channel.Withdraw(&client_user);
  EXPECT_FALSE(client->channel.Wait());
}

TEST_P(ConnectionManagerTest, CountsHowConnectionsEnd) {
  const CmId listener = server->Listener();
  {
    Requested asked = Ask(listener);
    ASSERT_TRUE(asked.server.Reject({}));
    EXPECT_EQ(client->Next().type, CmEventType::kRejected);
  }
  Requested asked = Connected(listener, 0x900);
  ASSERT_TRUE(asked.client.Disconnect());
  EXPECT_EQ(server->Next().type, CmEventType::kDisconnected);
  ASSERT_TRUE(asked.server.Disconnect());
  EXPECT_EQ(client->Next().type, CmEventType::kDisconnected);
  const CmUseCounters of_client = Good(client->context.Query()).cm;
  const CmUseCounters of_server = Good(server->context.Query()).cm;
  EXPECT_EQ(of_client.requests_sent, 2u);
  EXPECT_EQ(of_client.rejected_by_peers, 1u);
  EXPECT_EQ(of_server.requests_received, 2u);
  EXPECT_EQ(of_server.rejected, 1u);
  EXPECT_GT(of_server.mads_received, 0u);
  EXPECT_GE(of_client.established, 1u);
  EXPECT_GE(of_server.established, 1u);
  EXPECT_GE(of_client.disconnected, 1u);
  EXPECT_GE(of_server.disconnected, 1u);
}

TEST_P(ConnectionManagerTest, RequestsAreForwardedBetweenProcesses) {
  const CmId listener = server->Listener();
  const Requested asked = Ask(listener);
  const uint64_t forwarded = Good(client->context.Query()).cm.mads_forwarded;
  EXPECT_EQ(forwarded, GetParam() == Processes::kTwoClientFirst ? 1u : 0u);
}

}  // namespace
}  // namespace verbena
