#include "tools/server.h"

#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace verbena::tools {
namespace {

// What the server makes of a client that says this and leaves.
ErrorOr<void> ServeOneThatSays(const nlohmann::json& message) {
  auto listener = Listener::Open(0);
  EXPECT_TRUE(listener);
  {
    auto client = Rendezvous::Meet("127.0.0.1", listener->port());
    EXPECT_TRUE(client && client->Tell(message));
  }
  return ServeClients(*listener, true);
}

TEST(ServerTest, AClientThatMakesNoSenseIsRefused) {
  for (const nlohmann::json& message :
       {nlohmann::json{{"x", 1}}, nlohmann::json{{"ask", 7}, {"introduction", "y"}},
        nlohmann::json{{"ask", ToJson(Ask{})}}}) {
    const auto served = ServeOneThatSays(message);
    ASSERT_FALSE(served);
    EXPECT_NE(served.error().text.find("no sense"), std::string::npos) << served.error().text;
  }
}

TEST(ServerTest, AClientThatLeavesAtOnceIsServed) {
  const auto peer = Endpoint::Open({});
  ASSERT_TRUE(peer);
  const nlohmann::json introduction = ToJson((*peer)->Introduce(*ParseGid("127.0.0.1")));
  for (const bool sleeps : {false, true}) {
    const Ask ask{.sleeps = sleeps};
    const auto served = ServeOneThatSays({{"ask", ToJson(ask)}, {"introduction", introduction}});
    EXPECT_TRUE(served) << served.error().text;
  }
}

}  // namespace
}  // namespace verbena::tools
