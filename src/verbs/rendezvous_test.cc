#include "verbena/rendezvous.h"

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "verbena/verbena.h"

namespace verbena {
namespace {

struct Ends {
  Rendezvous server;
  Rendezvous client;
};

Ends MeetOn(const std::string& host) {
  auto listener = RendezvousListener::Listen(0);
  EXPECT_TRUE(listener) << listener.error().text;
  EXPECT_FALSE(listener->HasCaller());
  auto client = Rendezvous::Connect(host, listener->port());
  EXPECT_TRUE(client) << client.error().text;
  EXPECT_TRUE(listener->HasCaller());
  auto server = listener->Accept();
  EXPECT_TRUE(server);
  return {std::move(*server), std::move(*client)};
}

TEST(RendezvousTest, ValuesArriveInOrder) {
  const Ends ends = MeetOn("127.0.0.1");
  EXPECT_FALSE(ends.server.HasNews());
  ASSERT_TRUE(ends.client.Send(uint64_t{7}));
  ASSERT_TRUE(ends.client.Send(std::array<char, 100'000>{'x'}));
  EXPECT_EQ(ends.server.Receive<uint64_t>(), 7U);
  EXPECT_EQ((ends.server.Receive<std::array<char, 100'000>>()->front()), 'x');
  EXPECT_FALSE(ends.server.HasNews());
}

TEST(RendezvousTest, TheGidsAreThoseOfTheConnection) {
  for (const char* const host : {"127.0.0.1", "::1"}) {
    const Ends ends = MeetOn(host);
    EXPECT_EQ(ends.client.remote_gid(), ParseGid(host));
    EXPECT_EQ(ends.client.local_gid(), ends.server.remote_gid());
  }
}

TEST(RendezvousTest, AnEndedOrSilentPeerIsAnError) {
  Ends ends = MeetOn("127.0.0.1");
  ends.server.LimitWaits(std::chrono::milliseconds(10));
  EXPECT_EQ(ends.server.Receive<char>().error().os_error, EAGAIN);
  { const Rendezvous gone = std::move(ends.client); }
  EXPECT_TRUE(ends.server.HasNews());
  EXPECT_EQ(ends.server.Receive<char>().error().text, "the peer has closed the connection");
}

TEST(RendezvousTest, ErrorsNameHostAndPort) {
  const auto taken = RendezvousListener::Listen(0);
  ASSERT_TRUE(taken);
  const std::string port = std::to_string(taken->port());
  EXPECT_NE(RendezvousListener::Listen(taken->port()).error().text.find(port), std::string::npos);
  EXPECT_NE(Rendezvous::Connect("no-such-host.invalid", 1).error().text.find("no-such-host"),
            std::string::npos);
  const auto refused = Rendezvous::Connect("127.0.0.1", 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_error, ECONNREFUSED);
}

// The objects of one side of a connection.
struct Side {
  Context context = Context::Open({.dedicated_adapter = true}).value();
  ProtectionDomain domain = ProtectionDomain::Allocate(context).value();
  CompletionQueue cq = CompletionQueue::Create(context, 16).value();
  QueuePair qp = QueuePair::Create(domain, {.send_cq = &cq, .receive_cq = &cq}).value();
};

TEST(RendezvousTest, ConnectsQueuePairs) {
  const Ends ends = MeetOn("127.0.0.1");
  Side server;
  Side client;
  std::thread other([&] { EXPECT_TRUE(ends.server.ConnectQp(server.qp)); });
  EXPECT_TRUE(ends.client.ConnectQp(client.qp));
  other.join();
  EXPECT_EQ(client.qp.Query()->state, QpState::kRts);
  EXPECT_EQ(server.qp.Query()->state, QpState::kRts);
}

}  // namespace
}  // namespace verbena
