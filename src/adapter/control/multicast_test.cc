// Datagrams to groups, through sockets.

#include <map>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"
#include "tests/support/own_network.h"

namespace verbena::adapter {
namespace {

using fabric::OwnNetwork;
using fabric::RunInOwnNetwork;
using queue::SendOpcode;

// Two nodes, like two processes, on one address; the first has the sender.
struct World {
  World(const char* address, const char* group)
      : group_(TestIp(group)),
        a_(address),
        b_(address),
        handle_(*a_.adapter().CreateAddressHandle(
            a_.pd(), {.source = a_.address(), .destination = group_})) {}

  static QueuePair& MakeReady(TestNode& node) {
    QueuePair& qp = node.MakeQp(QpType::kUd);
    Succeed(ToInit(node, qp));
    Succeed(ToRtr(node, qp, {}, {}));
    Succeed(ToRts(node, qp));
    return qp;
  }
  static void Listen(TestNode& node, QueuePair& qp) {
    node.Fill(0, 8'192, 0);
    for (uint64_t id = 0; id < 32; ++id) PostReceive(node, qp, id, node.Bytes(0, 4'096));
  }
  void Send(uint64_t length) {
    queue::SendWqe wqe =
        MakeSend(SendOpcode::kSend, 99,
                 Datagram{.handle = handle_, .qp = wire::kMulticastQp, .q_key = kTestQKey});
    wqe.flags.signaled = false;
    Post(a_, sender_, wqe, a_.Bytes(16'384, length));
  }
  // How many datagrams each queue pair has got, after no more arrive.
  static std::map<uint32_t, int> Count(TestNode& node) {
    std::map<uint32_t, int> counts;
    while (const auto completion = node.Wait(nullptr, Milliseconds(100))) {
      EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
      ++counts[completion->qp.value()];
    }
    return counts;
  }

  // Sends until this many queue pairs of a node have got a datagram: the first ones may arrive
  // before the pages of the buffers are present, and are lost.
  void Warm(TestNode& node, size_t receivers) {
    for (int i = 0; i < 16; ++i) {
      Send(64);
      if (Count(node).size() == receivers) return;
    }
    ADD_FAILURE() << "nothing comes";
  }

  const IpAddress group_;
  TestNode a_;
  TestNode b_;
  QueuePair& sender_ = MakeReady(a_);
  const AddressHandleId handle_;
};

void ExpectOneForEveryMember(World& w) {
  QueuePair& here = w.MakeReady(w.a_);
  QueuePair& there = w.MakeReady(w.b_);
  QueuePair& also_there = w.MakeReady(w.b_);
  QueuePair& no_member = w.MakeReady(w.b_);
  for (QueuePair* const qp : {&there, &also_there, &no_member}) w.Listen(w.b_, *qp);
  w.Listen(w.a_, here);
  Succeed(w.a_.adapter().AttachMulticast(here, w.group_));
  Succeed(w.b_.adapter().AttachMulticast(there, w.group_));
  Succeed(w.b_.adapter().AttachMulticast(also_there, w.group_));
  w.Warm(w.a_, 1);
  w.Warm(w.b_, 2);
  w.Count(w.a_);
  for (int i = 0; i < 5; ++i) w.Send(1'000);
  EXPECT_EQ(w.Count(w.a_), (std::map<uint32_t, int>{{here.number().value(), 5}}));
  EXPECT_EQ(w.Count(w.b_), (std::map<uint32_t, int>{{there.number().value(), 5},
                                                    {also_there.number().value(), 5}}));
  for (TestNode* const node : {&w.a_, &w.b_}) {
    const AdapterReport report = *node->adapter().Query();
    EXPECT_EQ(report.port.dropped_for(Drop::kBadIcrc), 0U);
    EXPECT_EQ(report.port.dropped_for(Drop::kNoMember), 0U);
  }
}

void ExpectNoMoreForWhoLeaves(World& w) {
  QueuePair& there = w.MakeReady(w.b_);
  w.Listen(w.b_, there);
  Succeed(w.b_.adapter().AttachMulticast(there, w.group_));
  w.Warm(w.b_, 1);
  Succeed(w.b_.adapter().DetachMulticast(there, w.group_));
  const uint64_t before = w.b_.adapter().Query()->port.packets_received;
  w.Send(64);
  EXPECT_TRUE(w.Count(w.b_).empty());
  EXPECT_EQ(w.b_.adapter().Query()->port.packets_received, before) << "nor does its process";
}

using MulticastTest = testing::TestWithParam<const char*>;

TEST_P(MulticastTest, EveryMemberOfEveryProcessGetsOne) {
  World world("127.0.0.1", GetParam());
  ExpectOneForEveryMember(world);
}

TEST_P(MulticastTest, AMemberThatDetachedGetsNoMore) {
  World world("127.0.0.1", GetParam());
  ExpectNoMoreForWhoLeaves(world);
}

// Both forms of a GID.
INSTANTIATE_TEST_SUITE_P(Ipv4, MulticastTest,
                         testing::Values("ff0e::ffff:239.17.4.8", "239.17.4.9"));

// Linux sends no IPv6 multicast through the loopback interface, so the test creates an interface.
TEST(Ipv6MulticastTest, EveryMemberOfEveryProcessGetsOne) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork&) {
    World world("fd09::1", "ff0e::17:4:8");
    ExpectOneForEveryMember(world);
  });
}

TEST(Ipv6MulticastTest, AMemberThatDetachedGetsNoMore) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork&) {
    World world("fd09::1", "ff0e::17:4:8");
    ExpectNoMoreForWhoLeaves(world);
  });
}

// The order in which processes start does not matter: a process opens an endpoint for multicast
// when it joins a group.
TEST(MulticastEndpointsTest, AProcessThatJoinsTakesOneOfThemIfThereIsOne) {
  AdapterOptions options = TestOptions();
  options.multicast_endpoints = 2;
  TestNode first("127.0.0.1", 4'096, options);
  TestNode second("127.0.0.1", 4'096, options);
  TestNode third("127.0.0.1", 4'096, options);
  ASSERT_EQ(first.adapter().endpoint(), fabric::EndpointId(0));
  ASSERT_GE(second.adapter().endpoint().value(), options.multicast_endpoints);
  const auto attach = [](TestNode& node) {
    return node.adapter().AttachMulticast(node.MakeQp(QpType::kUd), TestIp("239.17.4.8"));
  };
  Succeed(attach(third));
  const auto attached = attach(second);
  ASSERT_FALSE(attached.has_value()) << "endpoints 0 and 1 are taken";
  EXPECT_EQ(attached.error().code, ErrorCode::kLimit);
  EXPECT_NE(attached.error().text.find("multicast_endpoints"), std::string::npos);
  third.CloseAdapter();
  Succeed(attach(second));
}

}  // namespace
}  // namespace verbena::adapter
