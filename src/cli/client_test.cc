#include "cli/client.h"

#include <array>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "cli/payload.h"

namespace verbena::cli {
namespace {

using Clock = std::chrono::steady_clock;

Completion Wait(Endpoint& endpoint) {
  std::array<Completion, 1> got{};
  for (const auto end = Clock::now() + std::chrono::seconds(20); Clock::now() < end;) {
    if (endpoint.cq().Poll(got) == 1) return got[0];
  }
  ADD_FAILURE() << "nothing completed";
  return {};
}

TEST(ClientTest, AServerThreadOfTheClientEchoes) {
  auto client = Client::Join({}, {.receives = 2, .message = 100, .echo = true}, 2);
  ASSERT_TRUE(client) << client.error().text;
  Endpoint& endpoint = (*client)->endpoint();
  FillPayload(endpoint.memory().first(100), 17);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(endpoint.qps()[0].Post(
        Receive{.id = WrId{kReceiveFlag}, .data = endpoint.region().Local(100, 100)}));
    ASSERT_TRUE(endpoint.qps()[0].Post(Send{.data = endpoint.region().Local(0, 100)}));
    for (int completions = 0; completions < 2; ++completions) {
      ASSERT_EQ(Wait(endpoint).status, CompletionStatus::kSuccess);
    }
    EXPECT_EQ(FindWrongByte(endpoint.memory().subspan(100, 100), 17), std::nullopt);
  }
}

TEST(ClientTest, AServerThatDoesNotPollLetsItsMemoryBeAccessed) {
  auto client = Client::Join({}, {.window = 64, .sleeps = true}, 1);
  ASSERT_TRUE(client) << client.error().text;
  Endpoint& endpoint = (*client)->endpoint();
  ASSERT_TRUE(endpoint.qps()[0].Post(
      Write{.data = endpoint.region().Local(0, 64), .remote = endpoint.remote(0)}));
  EXPECT_EQ(Wait(endpoint).status, CompletionStatus::kSuccess);
}

TEST(ClientTest, WithoutAServerTheErrorSaysToStartOne) {
  const auto client = Client::Join({.host = "127.0.0.1", .port = 1}, {}, 1);
  ASSERT_FALSE(client);
  EXPECT_NE(client.error().text.find("start the server"), std::string::npos);
}

}  // namespace
}  // namespace verbena::cli
