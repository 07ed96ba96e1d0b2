#include "verbena/xrc_domain.h"

#include <utility>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

class XrcDomainTest : public testing::Test {
 protected:
  XrcDomainTest() {
    receiver_ =
        Good(QueuePair::Create(b_.domain, {.type = QpType::kXrcReceive, .xrc_domain = &xrc_}));
    ConnectPair(a_, sender_, b_, receiver_);
  }
  QpSpec SenderSpec() const {
    QpSpec spec = a_.Spec(QpType::kXrcSend);
    spec.receive_cq = nullptr;
    return spec;
  }

  VerbsNode a_, b_;
  XrcDomain xrc_ = Good(XrcDomain::Open(b_.context));
  SharedReceiveQueue srq_ = Good(SharedReceiveQueue::CreateXrc(b_.domain, xrc_, b_.cq, 16));
  QueuePair sender_ = Good(QueuePair::Create(a_.domain, SenderSpec()));
  QueuePair receiver_;
};

TEST_F(XrcDomainTest, EveryOperationReachesTheNamedReceiver) {
  ASSERT_NE(srq_.number(), SrqNumber{});
  const SrqNumber srq = srq_.number();
  a_.Fill(0, 3'000, 1);
  ASSERT_TRUE(srq_.Post({.id = WrId{7}, .data = b_.region.Local(0, 4'096)}).has_value());
  ASSERT_TRUE(sender_.Post(Send{.data = a_.region.Local(0, 3'000), .xrc_srq = srq}).has_value());
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
  const auto received = b_.Wait();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->id, WrId{7});
  EXPECT_EQ(received->qp, receiver_.number());
  EXPECT_TRUE(b_.Holds(0, 3'000, 1));

  ASSERT_TRUE(
      sender_
          .Post(Write{
              .data = a_.region.Local(0, 3'000), .remote = b_.region.Remote(8'192), .xrc_srq = srq})
          .has_value());
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
  EXPECT_TRUE(b_.Holds(8'192, 3'000, 1));
  ASSERT_TRUE(sender_
                  .Post(Read{.data = a_.region.Local(8'192, 3'000),
                             .remote = b_.region.Remote(8'192),
                             .xrc_srq = srq})
                  .has_value());
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
  EXPECT_TRUE(a_.Holds(8'192, 3'000, 1));
  ASSERT_TRUE(sender_
                  .Post(FetchAdd{.result = a_.region.Local(0, 8),
                                 .remote = b_.region.Remote(0),
                                 .add = 1,
                                 .xrc_srq = srq})
                  .has_value());
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
  ASSERT_TRUE(
      sender_
          .Post(CompareSwap{
              .result = a_.region.Local(0, 8), .remote = b_.region.Remote(0), .xrc_srq = srq})
          .has_value());
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
}

TEST_F(XrcDomainTest, CannotBeDestroyedWhileInUse) {
  EXPECT_EQ(CodeOf(xrc_.Destroy()), ErrorCode::kInUse);
  Good(srq_.Destroy());
  EXPECT_EQ(CodeOf(xrc_.Destroy()), ErrorCode::kInUse);
  Good(receiver_.Destroy());
  Good(xrc_.Destroy());
  EXPECT_EQ(CodeOf(xrc_.Destroy()), ErrorCode::kInvalid);
}

TEST_F(XrcDomainTest, HandlesEndInAnyOrder) {
  { const XrcDomain gone = std::move(xrc_); }
  { const CompletionQueue gone = std::exchange(b_.cq, {}); }
  { const SharedReceiveQueue gone = std::move(srq_); }
  EXPECT_EQ(srq_.number(),
            SrqNumber{});  // NOLINT(bugprone-use-after-move): an empty handle is defined
}

TEST_F(XrcDomainTest, RefusesInvalidArguments) {
  EXPECT_EQ(CodeOf(QueuePair::Create(b_.domain, {.type = QpType::kXrcReceive})),
            ErrorCode::kInvalid);
  EXPECT_EQ(
      CodeOf(QueuePair::Create(a_.domain, {.type = QpType::kXrcReceive, .xrc_domain = &xrc_})),
      ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(QueuePair::Create(a_.domain, {.type = QpType::kXrcSend})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(SharedReceiveQueue::CreateXrc(b_.domain, xrc_, a_.cq, 16)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(SharedReceiveQueue::CreateXrc(b_.domain, {}, b_.cq, 16)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(SharedReceiveQueue::CreateXrc(b_.domain, xrc_, b_.cq, 0)), ErrorCode::kInvalid);
  QpSpec rc = b_.Spec();
  rc.srq = &srq_;
  EXPECT_EQ(CodeOf(QueuePair::Create(b_.domain, rc)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(XrcDomain::Open({})), ErrorCode::kInvalid);
  XrcDomain empty;
  EXPECT_EQ(CodeOf(empty.Destroy()), ErrorCode::kInvalid);
}

TEST(SharedReceiveQueueNumberTest, OnlyXrcQueuesHaveANumber) {
  VerbsNode node;
  EXPECT_EQ(Good(SharedReceiveQueue::Create(node.domain, 4)).number(), SrqNumber{});
}

}  // namespace
}  // namespace verbena
