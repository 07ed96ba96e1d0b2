#include "verbena/queue_pair.h"

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

// IPv4 and IPv6 over real sockets: the two nodes have a port each.
class QueuePairTest : public testing::TestWithParam<const char*> {
 protected:
  VerbsNode a_{GetParam()}, b_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Addresses, QueuePairTest, testing::Values("127.0.0.1", "::1"));

TEST_P(QueuePairTest, AReliableConnectionMovesMessages) {
  QueuePair qa = a_.MakeQp(), qb = b_.MakeQp();
  Good(qb.Prepare());
  constexpr uint32_t kLength = 20'000;  // several packets
  ASSERT_TRUE(qb.Post(Receive{.id = WrId{7}, .data = b_.region.Local(0, kLength)}));
  ConnectPair(a_, qa, b_, qb);
  a_.Fill(0, kLength, 1);
  ASSERT_TRUE(qa.Post(Send{.data = a_.region.Local(0, kLength), .immediate = Immediate{99}}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
  const auto received = b_.Wait();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->id, WrId{7});
  EXPECT_EQ(received->byte_count, kLength);
  EXPECT_TRUE(received->with_immediate);
  EXPECT_EQ(received->immediate, Immediate{99});
  EXPECT_TRUE(b_.Holds(0, kLength, 1));
  EXPECT_GT(Good(a_.context.Query()).sockets.datagrams_sent, 0U);
}

TEST_P(QueuePairTest, AnUnreliableConnectionMovesMessages) {
  QueuePair qa = a_.MakeQp(QpType::kUc), qb = b_.MakeQp(QpType::kUc);
  ConnectPair(a_, qa, b_, qb);
  ASSERT_TRUE(qb.Post(Receive{.data = b_.region.Local(0, 5'000)}));
  // Touches the pages, because packets to absent pages could be dropped.
  b_.Fill(0, 5'000, 0);
  a_.Fill(0, 5'000, 2);
  std::optional<Completion> received;
  for (int tries = 0; tries < 50 && !received; ++tries) {
    ASSERT_TRUE(qa.Post(Send{.data = a_.region.Local(0, 5'000)}));
    EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
    Completion out;
    for (int polls = 0; polls < 1'000 && !received; ++polls) {
      if (*b_.cq.Poll({&out, 1}) > 0) received = out;
    }
  }
  ASSERT_TRUE(received.has_value());
  EXPECT_TRUE(received->ok());
  EXPECT_TRUE(b_.Holds(0, 5'000, 2));
}

TEST_P(QueuePairTest, DatagramsGoToTheirAddressHandle) {
  constexpr uint32_t kGrh = 40;
  const QKey q_key{0x1234};
  QueuePair qa = a_.MakeQp(QpType::kUd), qb = b_.MakeQp(QpType::kUd);
  Good(qa.Activate(q_key));
  Good(qb.Activate(q_key));
  const AddressHandle handle =
      Good(AddressHandle::Create(a_.domain, {.source = a_.gid, .destination = b_.gid}));
  ASSERT_TRUE(qb.Post(Receive{.data = b_.region.Local(0, 1'024)}));
  b_.Fill(0, 1'024, 0);
  a_.Fill(0, 512, 3);
  std::optional<Completion> received;
  for (int tries = 0; tries < 50 && !received; ++tries) {
    ASSERT_TRUE(qa.Post(
        Send{.data = a_.region.Local(0, 512), .to = Datagram{handle.id(), qb.number(), q_key}}));
    EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
    Completion out;
    for (int polls = 0; polls < 1'000 && !received; ++polls) {
      if (*b_.cq.Poll({&out, 1}) > 0) received = out;
    }
  }
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->source_qp, qa.number());
  EXPECT_EQ(received->byte_count, kGrh + 512);
  EXPECT_TRUE(received->has_grh);
  EXPECT_TRUE(b_.Holds(kGrh, 512, 3));
}

class QueuePairPairTest : public VerbsPairTest {};

TEST_F(QueuePairPairTest, QueryReturnsItsAttributes) {
  EXPECT_EQ(qa_.type(), QpType::kRc);
  EXPECT_NE(qa_.number(), qb_.number());
  const QpReport report = Good(qa_.Query());
  EXPECT_EQ(report.state, QpState::kRts);
  EXPECT_EQ(report.attributes.remote_qp, qb_.number());
  EXPECT_EQ(report.attributes.path_mtu, PathMtu::k4096);
  EXPECT_EQ(report.attributes.sq_psn, Psn{0xFFFFF0});
  EXPECT_EQ(report.attributes.path->destination, b_.gid);
  EXPECT_EQ(Good(a_.MakeQp().Query()).attributes.path, std::nullopt);
}

TEST_F(QueuePairPairTest, StatesAreEnteredInOrder) {
  QueuePair qp = a_.MakeQp();
  const auto wrong = qp.Modify({.state = QpState::kRts, .sq_psn = Psn{1}});
  ASSERT_EQ(CodeOf(wrong), ErrorCode::kInvalid);
  const auto missing = qp.Modify({.state = QpState::kInit});
  ASSERT_EQ(CodeOf(missing), ErrorCode::kInvalid);
  EXPECT_NE(missing.error().text.find("PORT"), std::string::npos) << missing.error().text;
  Good(qp.Prepare());
  EXPECT_EQ(CodeOf(qp.Prepare(Access::FromBits(0xC0))), ErrorCode::kInvalid);
  EXPECT_EQ(Good(qp.Query()).state, QpState::kInit);
  Good(qp.Modify({.state = QpState::kErr}));
  Good(qp.Modify({.state = QpState::kReset}));
  EXPECT_EQ(Good(qp.Query()).state, QpState::kReset);
}

TEST_F(QueuePairPairTest, ConnectsAgainAfterAnError) {
  ASSERT_TRUE(qa_.Post(Write{.data = a_.region.Local(0, 8), .remote = {8, Key{0x777777}}}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(Good(qa_.Query()).state, QpState::kErr);
  // Requests are flushed at once.
  ASSERT_TRUE(qa_.Post(Send{}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kFlushed);
  for (QueuePair* const qp : {&qa_, &qb_}) Good(qp->Modify({.state = QpState::kReset}));
  ConnectPair(a_, qa_, b_, qb_);
  ASSERT_TRUE(qa_.Post(Write{.data = a_.region.Local(0, 8), .remote = b_.region.Remote()}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
}

TEST_F(QueuePairPairTest, ReportsAPeerThatEnded) {
  qa_ = a_.MakeQp();
  qb_ = b_.MakeQp();
  ConnectPair(a_, qa_, b_, qb_, {.timeout = 8, .retry_count = 2});
  qb_ = {};
  ASSERT_TRUE(qa_.Post(Write{.data = a_.region.Local(0, 8), .remote = b_.region.Remote()}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kRetryExceeded);
}

TEST_F(QueuePairPairTest, ConnectRefusesInvalidArguments) {
  QueuePair qp = a_.MakeQp();
  const QpAddress self{qp.number(), a_.gid, Psn{1}}, peer{qb_.number(), b_.gid, Psn{1}};
  EXPECT_EQ(CodeOf(qp.Connect(peer, peer)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(qp.Connect(self, {QpNumber{1 << 24}, b_.gid, {}})), ErrorCode::kInvalid);
  EXPECT_TRUE(CodeOf(qp.Connect(self, {qb_.number(), *ParseGid("::1"), {}})).has_value());
  EXPECT_EQ(CodeOf(qp.Connect(self, peer, {.timeout = 32})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(qa_.Activate(QKey{1})), ErrorCode::kInvalid);
  QueuePair datagrams = a_.MakeQp(QpType::kUd);
  EXPECT_EQ(CodeOf(datagrams.Prepare()), ErrorCode::kInvalid);
  EXPECT_TRUE(CodeOf(datagrams.Connect({datagrams.number(), a_.gid, {}}, peer)).has_value());
}

TEST_F(QueuePairPairTest, NeedsQueuesOfItsOwnContext) {
  QpSpec spec = a_.Spec();
  spec.send_cq = nullptr;
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, spec)), ErrorCode::kInvalid);
  spec = a_.Spec();
  spec.receive_cq = &b_.cq;
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, spec)), ErrorCode::kInvalid);
  const CompletionQueue none;
  spec.receive_cq = &none;
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, spec)), ErrorCode::kInvalid);
  const SharedReceiveQueue srq = Good(SharedReceiveQueue::Create(b_.domain, 4));
  spec = a_.Spec();
  spec.srq = &srq;
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, spec)), ErrorCode::kInvalid);
  spec = a_.Spec();
  spec.registration = static_cast<RegistrationMode>(3);
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, spec)), ErrorCode::kInvalid);
  spec = a_.Spec(static_cast<QpType>(9));
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, spec)), ErrorCode::kInvalid);
  spec = a_.Spec();
  spec.send.sges_max = kSgesMax + 1;
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, spec)), ErrorCode::kLimit);
}

TEST_F(QueuePairPairTest, HandlesMayBeDestroyedInAnyOrder) {
  ASSERT_TRUE(qb_.Post(Receive{.data = b_.region.Local(0, 8)}));
  ASSERT_TRUE(qa_.Post(Send{.data = a_.region.Local(0, 8)}));
  // Otherwise the region could be deregistered before the send is transmitted.
  ASSERT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
  a_.cq = {};
  a_.region = {};
  a_.domain = {};
  a_.context = {};
  const QueuePair last = std::move(qa_);
  EXPECT_EQ(Good(last.Query()).state, QpState::kRts);
}

TEST_F(QueuePairPairTest, AnEmptyHandleRefusesAllCalls) {
  QueuePair none;
  EXPECT_EQ(none.number(), QpNumber{});
  EXPECT_EQ(CodeOf(none.Prepare()), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.Connect({}, {})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.Activate({})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.Modify({})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.Query()), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.AttachMulticast({})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.DetachMulticast({})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.Destroy()), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace verbena
