#include "cli/server.h"

#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace verbena::cli {
namespace {

// The server's result for a client that sends this message and leaves.
ErrorOr<void> ServeClientThatSends(const nlohmann::json& message) {
  auto listener = Listener::Open(0);
  EXPECT_TRUE(listener);
  {
    auto client = JsonRendezvous::Meet("127.0.0.1", listener->port());
    EXPECT_TRUE(client && client->Tell(message));
  }
  return ServeClients(*listener, true);
}

TEST(ServerTest, RefusesAnInvalidRequest) {
  for (const nlohmann::json& message :
       {nlohmann::json{{"x", 1}}, nlohmann::json{{"request", 7}, {"hello", "y"}},
        nlohmann::json{{"request", ToJson(ServerRequest{})}}}) {
    const auto served = ServeClientThatSends(message);
    ASSERT_FALSE(served);
    EXPECT_NE(served.error().text.find("is invalid"), std::string::npos) << served.error().text;
  }
}

TEST(ServerTest, AClientThatLeavesAtOnceIsServed) {
  const auto peer = Endpoint::Open({});
  ASSERT_TRUE(peer);
  const nlohmann::json hello = ToJson((*peer)->SayHello(*ParseGid("127.0.0.1")));
  for (const bool sleeps : {false, true}) {
    const ServerRequest request{.sleeps = sleeps};
    const auto served = ServeClientThatSends({{"request", ToJson(request)}, {"hello", hello}});
    EXPECT_TRUE(served) << served.error().text;
  }
}

}  // namespace
}  // namespace verbena::cli
