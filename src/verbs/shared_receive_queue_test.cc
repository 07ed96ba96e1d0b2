#include "verbena/shared_receive_queue.h"

#include <fcntl.h>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

class SharedReceiveQueueTest : public VerbsPairTest {
 protected:
  void SetUp() override {
    QpSpec spec = b_.Spec();
    spec.srq = &srq_;
    qb_ = Good(QueuePair::Create(b_.domain, spec));
    ConnectPair(a_, qa_, b_, qb_);
  }
  Receive Buffer(uint64_t id) const {
    return {.id = WrId{id}, .data = b_.region.Local(id * 64, 64)};
  }

  SharedReceiveQueue srq_ = Good(SharedReceiveQueue::Create(b_.domain, 8, 2));
};

TEST_F(SharedReceiveQueueTest, ServesSeveralQueuePairs) {
  VerbsNode c;
  QueuePair qc = c.MakeQp();
  QpSpec spec = b_.Spec();
  spec.srq = &srq_;
  QueuePair second = Good(QueuePair::Create(b_.domain, spec));
  ConnectPair(c, qc, b_, second);
  ASSERT_TRUE(srq_.Post(Buffer(0)));
  ASSERT_TRUE(srq_.Post(Buffer(1)));
  ASSERT_TRUE(qa_.Post(Send{.data = a_.region.Local(0, 8)}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
  ASSERT_TRUE(qc.Post(Send{.data = c.region.Local(0, 8)}));
  EXPECT_EQ(c.WaitStatus(), CompletionStatus::kSuccess);
  EXPECT_EQ(b_.Wait()->qp, qb_.number());
  EXPECT_EQ(b_.Wait()->qp, second.number());
}

TEST_F(SharedReceiveQueueTest, MatchesTags) {
  VerbsNode c;
  SharedReceiveQueue tags = Good(SharedReceiveQueue::CreateTagMatching(b_.domain, b_.cq, 8, 1, 4));
  QpSpec spec = b_.Spec();
  spec.srq = &tags;
  QueuePair matching = Good(QueuePair::Create(b_.domain, spec));
  QueuePair qc = c.MakeQp();
  ConnectPair(c, qc, b_, matching);
  const TagOperation add{.receive_id = WrId{5}, .tag = 0, .mask = 1, .data = Buffer(1).data};
  ASSERT_TRUE(tags.ChangeTags(add).has_value());
  const auto second = tags.ChangeTags(add);
  ASSERT_TRUE(second.has_value());
  c.memory[0] = std::byte{3};  // an eager message of tag 0
  ASSERT_TRUE(qc.Post(Send{.data = c.region.Local(0, 24)}));
  EXPECT_EQ(c.WaitStatus(), CompletionStatus::kSuccess);
  const auto received = b_.Wait();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->id, WrId{5});
  EXPECT_EQ(received->byte_count, 8U);
  EXPECT_TRUE(received->tag_matched && received->tag_data_valid);
  const TagOperation remove{
      .kind = TagOperation::Kind::kRemove, .signaled = true, .handle = *second};
  EXPECT_TRUE(tags.ChangeTags(remove).has_value());
  EXPECT_EQ(b_.Wait()->opcode, CompletionOpcode::kTagRemove);
  EXPECT_EQ(srq_.ChangeTags(add).error(), ErrorCode::kInvalid);
  EXPECT_EQ(SharedReceiveQueue().ChangeTags(add).error(), ErrorCode::kInvalid);
}

TEST_F(SharedReceiveQueueTest, RaisesTheLimitEvent) {
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(srq_.Post(Buffer(i)));
  EXPECT_EQ(CodeOf(srq_.SetLimit(9)), ErrorCode::kInvalid);
  Good(srq_.SetLimit(3));
  EXPECT_EQ(srq_.limit(), 3U);
  ASSERT_TRUE(qa_.Post(Send{.data = a_.region.Local(0, 8)}));
  const auto event = b_.context.WaitEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, AsyncEventType::kSrqLimitReached);
  EXPECT_EQ(event->srq, srq_.id());
  EXPECT_EQ(srq_.limit(), 0U);
}

TEST_F(SharedReceiveQueueTest, AcceptsAChainUpToItsCapacity) {
  std::vector<Receive> chain;
  for (uint64_t i = 0; i < 10; ++i) chain.push_back(Buffer(i));
  const ChainResult result = srq_.PostChain(chain);
  EXPECT_EQ(result.posted, 8U);
  EXPECT_EQ(CodeOf(result.result), ErrorCode::kLimit);
  Good(srq_.Resize(16));
  EXPECT_EQ(srq_.capacity(), 16U);
  EXPECT_EQ(srq_.PostChain(std::span(chain).first(8)).posted, 8U);
  EXPECT_EQ(CodeOf(srq_.Resize(4)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(srq_.Resize(0)), ErrorCode::kInvalid);
}

TEST_F(SharedReceiveQueueTest, RefusesMoreElementsThanItsLimit) {
  const std::vector<Sge> three(3, b_.region.Local(0, 8));
  EXPECT_EQ(CodeOf(srq_.Post(Receive{.data = three})), ErrorCode::kInvalid);
  const std::vector<Sge> too_many(kSgesMax + 1, b_.region.Local(0, 8));
  EXPECT_EQ(CodeOf(srq_.Post(Receive{.data = too_many})), ErrorCode::kInvalid);
  // Queue pairs with an SRQ have no receive queue of their own.
  EXPECT_FALSE(qb_.Post(Buffer(0)));
}

TEST_F(SharedReceiveQueueTest, StaysAliveWhileQueuePairsUseIt) {
  ASSERT_TRUE(srq_.Post(Buffer(0)));
  EXPECT_EQ(CodeOf(srq_.Destroy()), ErrorCode::kInUse);
  srq_ = {};
  ASSERT_TRUE(qa_.Post(Send{.data = a_.region.Local(0, 8)}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
}

TEST_F(SharedReceiveQueueTest, AnEmptyHandleRefusesAllCalls) {
  SharedReceiveQueue none;
  EXPECT_EQ(CodeOf(none.Post({})), ErrorCode::kInvalid);
  const Receive chain[1];
  EXPECT_EQ(CodeOf(none.PostChain(chain).result), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.Resize(1)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.SetLimit(1)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.Destroy()), ErrorCode::kInvalid);
  EXPECT_EQ(none.id(), SrqId{});
  EXPECT_EQ(none.capacity(), 0U);
  QpSpec spec = b_.Spec();
  spec.srq = &none;
  EXPECT_EQ(CodeOf(QueuePair::Create(b_.domain, spec)), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace verbena
