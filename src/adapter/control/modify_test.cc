// Modifications of queue pairs that are in use, and what a path allows.

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"
#include "tests/support/own_network.h"

namespace verbena::adapter {
namespace {

using fabric::OwnNetwork;
using fabric::RunInOwnNetwork;
using queue::SendOpcode;

class ModifyTest : public testing::Test {
 protected:
  static ErrorOr<void> Change(TestNode& node, QueuePair& qp, const transport::QpSettings& to,
                              transport::AttributeMask mask, const AddressVector& path = {}) {
    return node.adapter().Modify(qp, {.attributes = to, .mask = mask, .path = path});
  }
  static transport::QpSettings State(QpState state) {
    transport::QpSettings attributes;
    attributes.state = state;
    attributes.sqd_notify = true;
    return attributes;
  }
  static void Drain(TestNode& node, QueuePair& qp) {
    Succeed(Change(node, qp, State(QpState::kSqd), Attribute::kState | Attribute::kSqdNotify));
    const auto event = node.events().Wait();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->type, AsyncEventType::kSendQueueDrained);
    EXPECT_EQ(event->qp, qp.number());
  }
  static void Resume(TestNode& node, QueuePair& qp) {
    Succeed(Change(node, qp, State(QpState::kRts), Attribute::kState));
  }
  // Sends datagrams until one arrives: those before the pages of the buffer are present are lost.
  std::optional<Completion> SendUntilReceived(QueuePair& qp, const queue::SendWqe& wqe) {
    for (int i = 0; i < 100; ++i) {
      Post(a_, qp, wqe, a_.Bytes(0, 100));
      if (auto completion = b_.Wait(nullptr, Milliseconds(50))) return completion;
    }
    return std::nullopt;
  }

  TestNode a_{"127.0.0.1"};
  TestNode b_{"127.0.0.1"};
};

TEST_F(ModifyTest, EveryTypeDrainsAndResumesPostedRequests) {
  for (const QpType type : {QpType::kRc, QpType::kUc}) {
    QueuePair& qa = a_.MakeQp(type);
    QueuePair& qb = b_.MakeQp(type);
    Connect(a_, qa, b_, qb);
    Drain(a_, qa);
    b_.Fill(0, 4'000, 0);  // so that its pages are present
    a_.Fill(0, 4'000, 7);
    Post(a_, qa, MakeSend(SendOpcode::kWrite, 5, b_.Remote(0)), a_.Bytes(0, 4'000));
    EXPECT_FALSE(a_.Wait(nullptr, Milliseconds(30)).has_value()) << NameOf(type);
    // Messages of the peer are still received.
    PostReceive(a_, qa, 6, a_.Bytes(65'536, 100));
    a_.Fill(65'536, 100, 0);
    queue::SendWqe wqe = MakeSend(SendOpcode::kSend, 7);
    wqe.flags.signaled = false;
    std::optional<Completion> received;
    for (int i = 0; i < 100 && !received; ++i) {
      if (i == 0 || type == QpType::kUc) Post(b_, qb, wqe, b_.Bytes(0, 100));
      received = a_.Wait(nullptr, Milliseconds(100));
    }
    ASSERT_TRUE(received.has_value()) << NameOf(type);
    EXPECT_EQ(received->id.value(), 6U);
    Resume(a_, qa);
    const auto done = a_.Wait();
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->id.value(), 5U);
    EXPECT_EQ(done->status, CompletionStatus::kSuccess);
  }
}

TEST_F(ModifyTest, ADatagramQueuePairChangesItsQKey) {
  QueuePair& qa = a_.MakeQp(QpType::kUd);
  QueuePair& qb = b_.MakeQp(QpType::kUd);
  Connect(a_, qa, b_, qb);
  const auto handle = *a_.adapter().CreateAddressHandle(a_.pd(), PathFrom(a_, b_));
  const auto to = [&](uint32_t q_key) {
    queue::SendWqe wqe = MakeSend(
        SendOpcode::kSend, 1, Datagram{.handle = handle, .qp = qb.number(), .q_key = QKey(q_key)});
    wqe.flags.signaled = false;
    return wqe;
  };
  b_.Fill(0, 200, 0);
  for (uint64_t id = 1; id <= 16; ++id) PostReceive(b_, qb, id, b_.Bytes(0, 200));
  ASSERT_TRUE(SendUntilReceived(qa, to(kTestQKey.value())).has_value());

  constexpr uint32_t kOther = 0x2222;
  transport::QpSettings change;
  change.q_key = QKey(kOther);
  Succeed(Change(b_, qb, change, Attribute::kQKey));
  Post(a_, qa, to(kTestQKey.value()), a_.Bytes(0, 100));
  EXPECT_FALSE(b_.Wait(nullptr, Milliseconds(50)).has_value());
  EXPECT_EQ(b_.adapter().Query(qb)->attributes.q_key, QKey(kOther));
  ASSERT_TRUE(SendUntilReceived(qa, to(kOther)).has_value());
  Drain(a_, qa);
  Post(a_, qa, to(kOther), a_.Bytes(0, 100));
  EXPECT_FALSE(b_.Wait(nullptr, Milliseconds(50)).has_value());
  Resume(a_, qa);
  EXPECT_TRUE(b_.Wait().has_value());
}

TEST_F(ModifyTest, AccessCanBeModifiedWhileConnected) {
  for (const QpType type : {QpType::kRc, QpType::kUc}) {
    QueuePair& qa = a_.MakeQp(type);
    QueuePair& qb = b_.MakeQp(type);
    Connect(a_, qa, b_, qb);
    b_.Fill(0, 64, 0);
    a_.Fill(0, 64, 9);
    transport::QpSettings change;
    change.access = Access::kRemoteRead;
    Succeed(Change(b_, qb, change, Attribute::kAccess));
    Post(a_, qa, MakeSend(SendOpcode::kWrite, 1, b_.Remote(0)), a_.Bytes(0, 64));
    const auto done = a_.Wait();
    ASSERT_TRUE(done.has_value());
    const bool answers = type == QpType::kRc;
    EXPECT_EQ(done->status,
              answers ? CompletionStatus::kRemoteInvalidRequest : CompletionStatus::kSuccess);
    usleep(20'000);
    EXPECT_TRUE(b_.Holds(0, 64, 0)) << NameOf(type);
  }
}

TEST_F(ModifyTest, ThePathCanBeModifiedWhileDrained) {
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = b_.MakeQp(QpType::kRc);
  Connect(a_, qa, b_, qb);
  Drain(a_, qa);
  Drain(b_, qb);
  const AddressVector there{.source = TestIp("127.0.0.1"), .destination = TestIp("127.0.0.2")};
  const AddressVector back{.source = TestIp("127.0.0.2"), .destination = TestIp("127.0.0.1")};
  transport::QpSettings change;
  change.retry_count = transport::RetryCount(3);
  Succeed(Change(a_, qa, change, Attribute::kPath | Attribute::kRetryCount, there));
  Succeed(Change(b_, qb, {}, Attribute::kPath, back));
  Resume(a_, qa);
  Resume(b_, qb);
  a_.Fill(0, 5'000, 2);
  Post(a_, qa, MakeSend(SendOpcode::kWrite, 1, b_.Remote(0)), a_.Bytes(0, 5'000));
  EXPECT_EQ(a_.Wait()->status, CompletionStatus::kSuccess);
  EXPECT_TRUE(b_.Holds(0, 5'000, 2));
  EXPECT_EQ(a_.adapter().Query(qa)->path->destination, there.destination);
}

TEST(PathMtuTest, AnMtuAboveTheInterfacesIsRefused) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    TestNode node("10.9.0.1");
    const AddressVector vector{.source = TestIp("10.9.0.1"), .destination = TestIp("10.9.0.2")};
    QueuePair& qp = node.MakeQp(QpType::kRc);
    Succeed(ToInit(node, qp));
    const auto refused = ToRtr(node, qp, vector, QpNumber(17), {});  // 4096
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    for (const char* const word : {"4096", "1024", "1500", network.name()}) {
      EXPECT_NE(refused.error().text.find(word), std::string::npos) << refused.error().text;
    }
    EXPECT_EQ(node.adapter().Query(qp)->state, QpState::kInit);
    Succeed(ToRtr(node, qp, vector, QpNumber(17), {.mtu = PathMtu::k1024}));
  });
}

TEST(PathMtuTest, ADatagramAboveThePathMtuIsALengthError) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork&) {
    TestNode node("10.9.0.1");
    QueuePair& qp = node.MakeQp(QpType::kUd);
    Connect(node, qp, node, node.MakeQp(QpType::kUd));
    const auto handle = *node.adapter().CreateAddressHandle(
        node.pd(), {.source = TestIp("10.9.0.1"), .destination = TestIp("10.9.0.2")});
    const Datagram to{.handle = handle, .qp = QpNumber(17), .q_key = QKey(1)};
    Post(node, qp, MakeSend(SendOpcode::kSend, 1, to), node.Bytes(0, 1'024));
    EXPECT_EQ(node.Wait()->status, CompletionStatus::kSuccess);
    Post(node, qp, MakeSend(SendOpcode::kSend, 2, to), node.Bytes(0, 1'025));
    EXPECT_EQ(node.Wait()->status, CompletionStatus::kLocalLengthError);
    EXPECT_EQ(node.adapter().Query(qp)->state, QpState::kSqe);
  });
}

TEST(PathFieldsTest, TrafficClassAndHopLimitAreOnTheWire) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    for (const bool is_ipv4 : {true, false}) {
      TestNode node(is_ipv4 ? "10.9.0.1" : "fd09::1");
      QueuePair& qp = node.MakeQp(QpType::kUd);
      Connect(node, qp, node, node.MakeQp(QpType::kUd));
      const auto handle = *node.adapter().CreateAddressHandle(
          node.pd(), {.source = node.address(),
                      .destination = TestIp(is_ipv4 ? "10.9.0.2" : "fd09::2"),
                      .traffic_class = 0x68,
                      .hop_limit = 9});
      const Datagram to{.handle = handle, .qp = QpNumber(17), .q_key = QKey(1)};
      Post(node, qp, MakeSend(SendOpcode::kSend, 1, to), node.Bytes(0, 64));
      ASSERT_EQ(node.Wait()->status, CompletionStatus::kSuccess);
      bool is_seen = false;
      while (const auto packet = network.Read()) {
        const auto at = [&](size_t i) { return static_cast<uint8_t>((*packet)[i]); };
        const bool is_ours =
            is_ipv4 ? at(0) == 0x45 && at(9) == 17 : at(0) >> 4 == 6 && at(6) == 17;
        if (!is_ours) continue;
        is_seen = true;
        EXPECT_EQ(is_ipv4 ? at(1) : (at(0) & 0xF) << 4 | at(1) >> 4, 0x68);
        EXPECT_EQ(is_ipv4 ? at(8) : at(7), 9);
      }
      EXPECT_TRUE(is_seen);
    }
  });
}

}  // namespace
}  // namespace verbena::adapter
