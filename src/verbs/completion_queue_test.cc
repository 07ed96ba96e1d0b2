#include "verbena/completion_queue.h"

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

class CompletionQueueTest : public VerbsPairTest {
 protected:
  // Posts `count` writes, whose completions go to the send CQ of qa_.
  void PostWrites(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(qa_.Post(
          Write{.id = WrId{i}, .data = a_.region.Local(0, 8), .remote = b_.region.Remote()}));
    }
  }
  // Waits until qa_ has sent `count` packets, without polling.
  void WaitUntil(uint64_t count) {
    const Time end = Now() + Seconds(20);
    while (Good(qa_.Query()).counters.packets_sent < count && Now() < end) {
    }
  }
};

TEST_F(CompletionQueueTest, PollReturnsAtMostAsManyAsFit) {
  PostWrites(40);
  std::vector<Completion> all;
  while (all.size() < 40) {
    std::array<Completion, 20> some;  // more than Poll copies at a time
    const auto count = a_.cq.Poll(some);
    ASSERT_TRUE(count.has_value());
    all.insert(all.end(), some.begin(), some.begin() + static_cast<ptrdiff_t>(*count));
  }
  for (uint64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(all[i].id, WrId{i});
    EXPECT_TRUE(all[i].ok());
    EXPECT_EQ(all[i].opcode, CompletionOpcode::kWrite);
    EXPECT_EQ(all[i].qp, qa_.number());
    EXPECT_GT(all[i].timestamp_ns, 0);
  }
  EXPECT_EQ(a_.cq.Poll({}).value(), 0U);
}

TEST_F(CompletionQueueTest, StartPollReturnsCompletionsOneByOne) {
  PostWrites(3);
  Completion completion;
  EXPECT_FALSE(b_.cq.StartPoll(completion).value());
  uint64_t seen = 0;
  const Time end = Now() + Seconds(20);
  while (seen < 3 && Now() < end) {
    if (!a_.cq.StartPoll(completion).value()) continue;
    do {
      EXPECT_EQ(completion.id, WrId{seen++});
    } while (a_.cq.NextPoll(completion));
    a_.cq.EndPoll();
  }
  EXPECT_EQ(seen, 3U);
}

TEST_F(CompletionQueueTest, PollReportsAnOverflow) {
  CompletionQueue small = Good(CompletionQueue::Create(a_.context, 2));
  QpSpec spec = a_.Spec();
  spec.send_cq = &small;
  qa_ = Good(QueuePair::Create(a_.domain, spec));
  qb_ = b_.MakeQp();
  ConnectPair(a_, qa_, b_, qb_);
  PostWrites(8);
  WaitUntil(8);
  // Poll returns the completions in the queue before it reports the overflow.
  std::array<Completion, 16> out;
  const Time end = Now() + Seconds(20);
  CodeOr<size_t> count = small.Poll(out);
  while (count && Now() < end) count = small.Poll(out);
  EXPECT_EQ(CodeOf(count), ErrorCode::kOverflow);
  EXPECT_EQ(CodeOf(small.StartPoll(out[0])), ErrorCode::kOverflow);
  const auto event = a_.context.WaitEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, AsyncEventType::kCqError);
  EXPECT_EQ(event->cq, small.id());
}

TEST_F(CompletionQueueTest, CanBeResized) {
  EXPECT_EQ(a_.cq.capacity(), 256U);
  Good(a_.cq.Resize(1'024));
  EXPECT_EQ(a_.cq.capacity(), 1'024U);
  EXPECT_EQ(CodeOf(a_.cq.Resize(0)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(a_.cq.Resize(size_t{1} << 40)), ErrorCode::kLimit);
  EXPECT_EQ(CodeOf(CompletionQueue::Create(a_.context, 0)), ErrorCode::kInvalid);
}

TEST_F(CompletionQueueTest, ModeratesEvents) {
  const CompletionChannel channel = Good(CompletionChannel::Create(a_.context));
  CompletionQueue cq = Good(CompletionQueue::Create(a_.context, 64, &channel));
  EXPECT_EQ(CodeOf(cq.SetModeration(2, std::chrono::nanoseconds(-1))), ErrorCode::kInvalid);
  Good(cq.SetModeration(2, std::chrono::milliseconds(5)));
  QpSpec spec = a_.Spec();
  spec.send_cq = &cq;
  qa_ = Good(QueuePair::Create(a_.domain, spec));
  qb_ = b_.MakeQp();
  ConnectPair(a_, qa_, b_, qb_);
  ASSERT_TRUE(cq.RequestNotify());
  const Time start = Now();
  PostWrites(1);  // one fewer than the moderation count, so the period has to end
  EXPECT_EQ(channel.Wait(), cq.id());
  EXPECT_GE(Now() - start, Milliseconds(5));
}

TEST_F(CompletionQueueTest, CannotBeArmedWithoutAChannel) {
  EXPECT_EQ(CodeOf(a_.cq.RequestNotify()), ErrorCode::kInvalid);
}

TEST_F(CompletionQueueTest, StaysAliveWhileQueuePairsUseIt) {
  EXPECT_EQ(CodeOf(a_.cq.Destroy()), ErrorCode::kInUse);
  a_.cq = {};
  // The program cannot poll the queue any more, but the engine still pushes to it.
  PostWrites(3);
  WaitUntil(3);
  EXPECT_EQ(Good(qa_.Query()).state, QpState::kRts);
}

TEST_F(CompletionQueueTest, AnEmptyHandleRefusesAllCalls) {
  CompletionQueue none;
  Completion completion;
  EXPECT_EQ(CodeOf(none.Poll({&completion, 1})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.StartPoll(completion)), ErrorCode::kInvalid);
  EXPECT_FALSE(none.NextPoll(completion));
  none.EndPoll();
  EXPECT_EQ(CodeOf(none.RequestNotify()), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.Resize(16)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.SetModeration(1, {})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(none.Destroy()), ErrorCode::kInvalid);
  EXPECT_EQ(none.id(), CqId{});
  EXPECT_EQ(none.capacity(), 0U);
}

}  // namespace
}  // namespace verbena
