#include "cli/rendezvous.h"

#include <sys/socket.h>

#include <array>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace verbena::cli {
namespace {

struct Pair {
  JsonRendezvous server;
  JsonRendezvous client;
};

Pair MeetOn(const std::string& host) {
  auto listener = Listener::Open(0);
  EXPECT_TRUE(listener) << listener.error().text;
  auto client = JsonRendezvous::Meet(host, listener->port());
  EXPECT_TRUE(client) << client.error().text;
  auto server = listener->Accept(10.0);
  EXPECT_TRUE(server);
  return {std::move(*server), std::move(*client)};
}

TEST(RendezvousTest, MessagesArriveInOrderInBothDirections) {
  Pair pair = MeetOn("127.0.0.1");
  EXPECT_FALSE(pair.server.HasNews());
  ASSERT_TRUE(pair.client.Tell({{"n", 1}}));
  ASSERT_TRUE(pair.client.Tell({{"n", 2}}));
  EXPECT_EQ(pair.server.Hear()->at("n"), 1);
  EXPECT_TRUE(pair.server.HasNews());
  EXPECT_EQ(pair.server.Hear()->at("n"), 2);
  EXPECT_FALSE(pair.server.HasNews());
  ASSERT_TRUE(pair.server.Tell({{"text", std::string(100'000, 'x')}}));
  EXPECT_EQ(pair.client.Hear()->at("text").get<std::string>().size(), 100'000);
}

TEST(RendezvousTest, GidsAreTheAddressesOfTheConnection) {
  for (const std::string host : {"127.0.0.1", "::1"}) {
    const Pair pair = MeetOn(host);
    EXPECT_EQ(pair.client.peer_gid(), ParseGid(host));
    EXPECT_EQ(pair.client.own_gid(), pair.server.peer_gid());
    EXPECT_EQ(pair.server.own_gid(), pair.client.peer_gid());
    EXPECT_EQ(pair.client.interface(), 0);
  }
}

TEST(RendezvousTest, AClosedConnectionIsNews) {
  Pair pair = MeetOn("127.0.0.1");
  { const JsonRendezvous gone = std::move(pair.client); }
  EXPECT_TRUE(pair.server.HasNews());
  const auto heard = pair.server.Hear();
  ASSERT_FALSE(heard);
  EXPECT_NE(heard.error().text.find("closed the connection"), std::string::npos);
}

TEST(RendezvousTest, RefusesLinesThatAreNotJsonObjects) {
  for (const std::string line : {"GET / HTTP/1.1\n", "[1, 2]\n", "{\"n\": \n"}) {
    std::array<int, 2> files{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, files.data()), 0);
    const File stranger(files[0]);
    JsonRendezvous ours{File(files[1])};
    ASSERT_EQ(send(stranger.get(), line.data(), line.size(), 0), line.size());
    const auto heard = ours.Hear();
    ASSERT_FALSE(heard);
    EXPECT_EQ(heard.error().code, ErrorCode::kInvalid);
  }
}

TEST(RendezvousTest, ErrorsNameTheRemedy) {
  uint16_t port = 0;
  {
    const auto listener = Listener::Open(0);
    ASSERT_TRUE(listener);
    port = listener->port();
    const auto second = Listener::Open(port);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().text.find("--port"), std::string::npos);
  }
  const auto none = JsonRendezvous::Meet("127.0.0.1", port);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text.find("start the server"), std::string::npos);
}

TEST(RendezvousTest, AListenerWaitsOnlyForTheGivenTime) {
  const auto listener = Listener::Open(0);
  ASSERT_TRUE(listener);
  EXPECT_FALSE(listener->Accept(0.01));
}

}  // namespace
}  // namespace verbena::cli
