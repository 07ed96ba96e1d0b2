#include "cli/endpoint.h"

#include <array>
#include <chrono>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::unique_ptr<Endpoint> Open(const EndpointSpec& spec) {
  auto endpoint = Endpoint::Open(spec);
  EXPECT_TRUE(endpoint) << endpoint.error().text;
  return std::move(*endpoint);
}

// Polls both ends until `one` has a completion.
Completion WaitAt(Endpoint& one, Endpoint& other) {
  std::array<Completion, 1> got{};
  std::array<Completion, 1> others{};
  for (const auto end = Clock::now() + std::chrono::seconds(20); Clock::now() < end;) {
    if (one.cq().Poll(got) == 1) return got[0];
    EXPECT_TRUE(other.cq().Poll(others));
  }
  ADD_FAILURE() << "nothing completed";
  return {};
}

TEST(EndpointTest, TwoConnectedEndsWriteToEachOther) {
  const auto a = Open({.qps = 3});
  const auto b = Open({.qps = 3});
  const Gid gid = *ParseGid("127.0.0.1");
  ASSERT_TRUE(a->Connect(gid, b->SayHello(gid), PathMtu::k1024));
  ASSERT_TRUE(b->Connect(gid, a->SayHello(gid), PathMtu::k1024));
  for (size_t i = 0; i < 3; ++i) {
    a->memory()[0] = std::byte{static_cast<uint8_t>(i + 1)};
    ASSERT_TRUE(a->qps()[i].Post(Write{.data = a->region().Local(0, 1), .remote = a->remote(i)}));
    EXPECT_EQ(WaitAt(*a, *b).status, CompletionStatus::kSuccess);
    EXPECT_EQ(b->memory()[i], a->memory()[0]);
  }
}

TEST(EndpointTest, RefusesAPeerWithADifferentNumberOfQueuePairs) {
  const auto a = Open({.qps = 2});
  const auto b = Open({.qps = 1});
  const Gid gid = *ParseGid("127.0.0.1");
  const auto connected = a->Connect(gid, b->SayHello(gid), PathMtu::k1024);
  ASSERT_FALSE(connected);
  EXPECT_NE(connected.error().text.find("number of queue pairs"), std::string::npos);
}

TEST(EndpointTest, AnErrorNamesTheLimitThatIsExceeded) {
  const auto endpoint = Endpoint::Open({.depth = 1'000'000});
  ASSERT_FALSE(endpoint);
  EXPECT_FALSE(endpoint.error().text.empty());
}

}  // namespace
}  // namespace verbena::cli
