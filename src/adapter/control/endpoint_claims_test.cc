#include "adapter/control/endpoint_claims.h"

#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "adapter/objects/qp_table.h"
#include "base/check.h"
#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

using queue::SendOpcode;

constexpr uint32_t kLiveMax = QpTable<QueuePair>::kLiveMax;

// A queue pair with the smallest possible queues.
QueuePair& MakeSmallQp(TestNode& node) {
  const auto qp = node.adapter().CreateQp({.type = QpType::kRc,
                                           .pd = node.pd(),
                                           .send_cq = &node.cq(),
                                           .receive_cq = &node.cq(),
                                           .send = {.capacity = 1, .sges_max = 1},
                                           .receive = {.capacity = 1, .sges_max = 1}});
  EXPECT_TRUE(qp.has_value()) << qp.error().text;
  return **qp;
}

// Sends a datagram to a program that sees the IP header, which the socket reports only on request.
void ExpectDatagrams(TestNode& a, TestNode& b) {
  QueuePair& from = a.MakeQp(QpType::kUd);
  QueuePair& to = b.MakeQp(QpType::kUd);
  ASSERT_NE(EndpointOf(to.number()), b.adapter().endpoint());
  Connect(a, from, b, to);
  const auto handle = a.adapter().CreateAddressHandle(a.pd(), PathFrom(a, b));
  ASSERT_TRUE(handle.has_value());
  b.Fill(0, 4'096, 0);
  constexpr int kTries = 8;  // the first may arrive before the pages are present
  std::optional<Completion> received;
  for (int i = 0; i < kTries && !received; ++i) {
    PostReceive(b, to, 5, b.Bytes(0, 4'096));
    queue::SendWqe wqe = MakeSend(
        SendOpcode::kSend, 1, Datagram{.handle = *handle, .qp = to.number(), .q_key = kTestQKey});
    wqe.flags.signaled = false;
    Post(a, from, wqe, a.Bytes(0, 64));
    received = b.Wait(nullptr, Milliseconds(200));
  }
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->source_qp.value(), from.number().value());
}

// Everything works between queue pairs of any two endpoints of two processes, through all sockets.
TEST(EndpointClaims, AProcessTakesAnotherEndpointForMoreQueuePairs) {
  TestNode a("127.0.0.1"), b("127.0.0.1");
  std::vector<QueuePair*> ours, theirs;
  for (uint32_t i = 0; i <= kLiveMax; ++i) {
    ours.push_back(&MakeSmallQp(a));
    theirs.push_back(&MakeSmallQp(b));
  }
  EXPECT_EQ(EndpointOf(ours.front()->number()), a.adapter().endpoint());
  EXPECT_NE(EndpointOf(ours.back()->number()), a.adapter().endpoint());
  // From the first endpoint to the second of the peer, and the other way round.
  const std::pair<QueuePair*, QueuePair*> pairs[] = {{ours.front(), theirs.back()},
                                                     {ours.back(), theirs.front()}};
  for (const auto& [qa, qb] : pairs) {
    Connect(a, *qa, b, *qb);
    a.Fill(0, 4'096, 3);
    b.Fill(0, 4'096, 0);
    Post(a, *qa, MakeSend(SendOpcode::kWrite, 1, b.Remote(0)), a.Bytes(0, 4'096));
    const auto done = a.Wait();
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->status, CompletionStatus::kSuccess);
    EXPECT_TRUE(b.Holds(0, 4'096, 3));
  }
  EXPECT_EQ(b.adapter().Query()->port.dropped_for(Drop::kWrongPort), 0U);
  ExpectDatagrams(a, b);
}

// They take 500 MB. In builds that are slower and use more memory, fewer are enough.
TEST(EndpointClaims, AProcessHasAHundredThousandQueuePairs) {
  constexpr uint32_t kQps = VERBENA_DCHECK ? 10'000 : 100'000;
  TestNode node("127.0.0.1");
  std::set<uint16_t> endpoints;
  std::set<uint32_t> numbers;
  QueuePair* first = nullptr;
  QueuePair* last = nullptr;
  for (uint32_t i = 0; i < kQps; ++i) {
    last = &MakeSmallQp(node);
    if (first == nullptr) first = last;
    endpoints.insert(EndpointOf(last->number()).value());
    numbers.insert(last->number().value());
  }
  EXPECT_EQ(numbers.size(), kQps);
  EXPECT_EQ(endpoints.size(), (kQps + kLiveMax - 1) / kLiveMax);
  Connect(node, *first, node, *last);
  node.Fill(0, 4'096, 7);
  node.Fill(8'192, 4'096, 0);
  Post(node, *last, MakeSend(SendOpcode::kWrite, 1, node.Remote(8'192)), node.Bytes(0, 4'096));
  const auto done = node.Wait();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, CompletionStatus::kSuccess);
  EXPECT_TRUE(node.Holds(8'192, 4'096, 7));
}

TEST(EndpointClaims, TheErrorNamesTheLimitOfQueuePairs) {
  AdapterOptions options = TestOptions();
  options.qps_max = 1;
  TestNode node("127.0.0.1", 4'096, options);
  MakeSmallQp(node);
  const auto refused = node.adapter().CreateQp(
      {.type = QpType::kRc, .pd = node.pd(), .send_cq = &node.cq(), .receive_cq = &node.cq()});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  EXPECT_NE(refused.error().text.find("qps_max"), std::string::npos);
}

TEST(EndpointClaims, AMachineWithoutAFreeEndpointIsALimit) {
  AdapterOptions options = TestOptions();
  options.endpoints_max = options.multicast_endpoints + 1;
  TestNode first("127.0.0.1", 4'096, options), second("127.0.0.1", 4'096, options);
  const auto refused = Adapter::Open(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  EXPECT_NE(refused.error().text.find("endpoints of this machine are taken"), std::string::npos)
      << refused.error().text;
}

// One port, and as many queue pairs.
TEST(EndpointClaims, StrictModeHasMoreNumbersAtTheSameEndpoint) {
  AdapterOptions options = TestOptions();
  options.strict = true;
  TestNode node("127.0.0.1", 4'096, options);
  std::set<uint32_t> numbers;
  QueuePair* qp = nullptr;
  for (uint32_t i = 0; i <= kLiveMax; ++i) {
    qp = &MakeSmallQp(node);
    numbers.insert(qp->number().value());
  }
  EXPECT_EQ(numbers.size(), kLiveMax + 1);
  EXPECT_NE(EndpointOf(qp->number()), node.adapter().endpoint());
}

TEST(EndpointClaims, TheSeedDeterminesEndpointAndNumbers) {
  AdapterOptions options = TestOptions();
  options.identity_seed = 7;
  const auto first_number = [&] {
    TestNode node("127.0.0.1", 4'096, options);
    return MakeSmallQp(node).number();
  };
  EXPECT_EQ(first_number(), first_number());
  options.identity_seed = 0;
  std::set<uint32_t> numbers;
  for (int i = 0; i < 4; ++i) numbers.insert(first_number().value());
  EXPECT_GT(numbers.size(), 1U);
}

}  // namespace
}  // namespace verbena::adapter
