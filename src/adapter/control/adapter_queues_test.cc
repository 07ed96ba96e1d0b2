#include <fcntl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

using queue::SendOpcode;
using Wanted = queue::CompletionQueue::Wanted;

class AdapterQueuesTest : public testing::Test {
 protected:
  Adapter& adapter() { return a_.adapter(); }
  uint64_t SendCallsAfterAnEvent(uint64_t count);

  TestNode a_{"127.0.0.1"};
};

TEST_F(AdapterQueuesTest, AChannelIsInUseWhileItHasQueues) {
  CompletionChannel* const channel = *adapter().CreateChannel();
  Cq* const cq = *adapter().CreateCq(10, channel);
  EXPECT_EQ(cq->channel(), channel);
  EXPECT_GE(cq->capacity(), 10U);
  EXPECT_EQ(adapter().Destroy(channel).error().code, ErrorCode::kInUse);
  Succeed(adapter().Destroy(cq));
  Succeed(adapter().Destroy(channel));
}

TEST_F(AdapterQueuesTest, QueuesHaveLimits) {
  EXPECT_EQ(adapter().CreateCq(0, nullptr).error().code, ErrorCode::kInvalid);
  const size_t too_deep = size_t{adapter().options().completion_depth_max} + 1;
  EXPECT_EQ(adapter().CreateCq(too_deep, nullptr).error().code, ErrorCode::kLimit);
  EXPECT_EQ(adapter().Resize(a_.cq(), too_deep).error().code, ErrorCode::kLimit);
  EXPECT_EQ(adapter().Resize(a_.cq(), 0).error().code, ErrorCode::kInvalid);
  Succeed(adapter().Resize(a_.cq(), 10'000));
  EXPECT_GE(a_.cq().capacity(), 10'000U);
  const uint32_t depth = adapter().options().queue_depth_max;
  EXPECT_EQ(adapter().CreateSrq(a_.pd(), depth + 1, 1).error().code, ErrorCode::kLimit);
  EXPECT_EQ(adapter().CreateSrq(a_.pd(), 1, 10'000).error().code, ErrorCode::kLimit);
  EXPECT_EQ(adapter().CreateSrq(a_.pd(), 0, 1).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(adapter().CreateSrq(memory::PdId(999), 1, 1).error().code, ErrorCode::kInvalid);
}

TEST_F(AdapterQueuesTest, ASharedReceiveQueueBelongsToItsDomain) {
  Srq* const srq = *adapter().CreateSrq(a_.pd(), 4, 1);
  Succeed(adapter().Resize(*srq, 8));
  EXPECT_EQ(srq->capacity(), 8U);
  EXPECT_EQ(adapter().SetLimit(*srq, 9).error().code, ErrorCode::kInvalid);
  Succeed(adapter().SetLimit(*srq, 8));
  EXPECT_EQ(srq->limit(), 8U);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(adapter().PostReceive(*srq, {}).has_value());
  EXPECT_EQ(adapter().PostReceive(*srq, {}).error(), PostReason::kQueueFull);
  EXPECT_EQ(adapter().Resize(*srq, 4).error().code, ErrorCode::kInvalid);
  Succeed(adapter().Destroy(srq));
}

TEST_F(AdapterQueuesTest, AQueueThatMatchesTagsHasLimitsAndACompletionQueue) {
  Cq* const cq = *adapter().CreateCq(10, nullptr);
  const uint32_t most = adapter().options().tags_max;
  EXPECT_EQ(adapter().CreateTagSrq(a_.pd(), *cq, 4, 1, 0).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(adapter().CreateTagSrq(a_.pd(), *cq, 4, 1, most + 1).error().code, ErrorCode::kLimit);
  Srq* const srq = *adapter().CreateTagSrq(a_.pd(), *cq, 4, 1, 1);
  EXPECT_EQ(adapter().Destroy(cq).error().code, ErrorCode::kInUse);

  EXPECT_TRUE(adapter().ChangeTags(*srq, {.signaled = true}).has_value());
  std::array<Completion, 2> done;
  EXPECT_EQ(adapter().Poll(*cq, done).value_or(0), 1U);
  EXPECT_EQ(done[0].opcode, CompletionOpcode::kTagAdd);
  EXPECT_EQ(adapter().ChangeTags(*srq, {}).error().code, ErrorCode::kLimit);
  const std::array<Sge, 2> sges = {};
  EXPECT_EQ(adapter().ChangeTags(*srq, {.data = sges}).error().code, ErrorCode::kInvalid);
  Srq* const plain = *adapter().CreateSrq(a_.pd(), 4, 1);
  EXPECT_EQ(adapter().ChangeTags(*plain, {}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(
      adapter()
          .CreateQp(
              {.type = QpType::kUd, .pd = a_.pd(), .send_cq = cq, .receive_cq = cq, .srq = srq})
          .error()
          .code,
      ErrorCode::kInvalid);
  Succeed(adapter().Destroy(srq));
  Succeed(adapter().Destroy(plain));
  Succeed(adapter().Destroy(cq));
}

TEST_F(AdapterQueuesTest, ModeratedEventsComeTogether) {
  CompletionChannel* const channel = *adapter().CreateChannel();
  Cq* const cq = *adapter().CreateCq(64, channel);
  QpInit spec = a_.Spec(QpType::kRc);
  spec.send_cq = cq;
  QueuePair& qa = **adapter().CreateQp(spec);
  QueuePair& qb = a_.MakeQp(QpType::kRc);
  Connect(a_, qa, a_, qb);
  Succeed(adapter().SetModeration(*cq, 100, Milliseconds(30)));
  adapter().RequestNotify(*cq, Wanted::kAll);
  const Time start = Now();
  for (uint64_t i = 0; i < 3; ++i) {
    Post(a_, qa, MakeSend(SendOpcode::kWrite, i, a_.Remote(0)), a_.Bytes(4'096, 8));
  }
  ASSERT_EQ(channel->Wait(), cq);
  EXPECT_GE(Now() - start, Milliseconds(30));
  EXPECT_EQ(cq->size(), 3U);
  fcntl(channel->fd(), F_SETFL, O_NONBLOCK);
  EXPECT_EQ(channel->Wait(), nullptr);
  Succeed(adapter().Destroy(&qa));
  Succeed(adapter().Destroy(cq));
}

// Sends one message, waits for its event, then posts `count` messages to a peer that answers no
// more.
uint64_t AdapterQueuesTest::SendCallsAfterAnEvent(uint64_t count) {
  TestNode silent("127.0.0.1");
  CompletionChannel* const channel = *adapter().CreateChannel();
  Cq* const cq = *adapter().CreateCq(64, channel);
  QpInit spec = a_.Spec(QpType::kRc);
  spec.send_cq = cq;
  QueuePair& qa = **adapter().CreateQp(spec);
  QueuePair& qb = silent.MakeQp(QpType::kRc);
  Connect(a_, qa, silent, qb);
  const auto post = [&](uint64_t id) {
    Post(a_, qa, MakeSend(SendOpcode::kWrite, id, silent.Remote(0)), a_.Bytes(0, 8));
  };
  adapter().RequestNotify(*cq, Wanted::kAll);
  post(0);
  EXPECT_EQ(adapter().Wait(*channel), cq);
  Succeed(silent.adapter().Destroy(&qb));  // it acknowledges no more
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const auto calls = [&] { return adapter().Query()->sent.system_calls; };
  const uint64_t before = calls();
  for (uint64_t i = 1; i <= count; ++i) post(i);
  const uint64_t taken = calls() - before;
  Succeed(adapter().Destroy(&qa));
  Succeed(adapter().Destroy(cq));
  return taken;
}

// However long ago the event was: a machine may be slow. A thread that is preempted between two
// posts sends more often, so that one of a few bursts must do.
TEST_F(AdapterQueuesTest, SmallRequestsAfterAnEventLeaveTogether) {
  constexpr uint64_t kPosts = 16;  // as many as the congestion window lets out unanswered
  uint64_t least = kPosts;
  for (int i = 0; i < 5 && least >= kPosts - 3; ++i) {
    least = std::min(least, SendCallsAfterAnEvent(kPosts));
  }
  EXPECT_LT(least, kPosts - 3) << "8 by themselves, the others in one";
}
TEST_F(AdapterQueuesTest, AnOverflowIsReportedOnceAndEndsTheQueuePair) {
  Cq* const cq = *adapter().CreateCq(2, nullptr, &a_.events());
  QpInit spec = a_.Spec(QpType::kRc);
  spec.send_cq = cq;
  QueuePair& qa = **adapter().CreateQp(spec);
  QueuePair& qb = a_.MakeQp(QpType::kRc);
  Connect(a_, qa, a_, qb);
  for (uint64_t i = 0; i < 8; ++i) {
    Post(a_, qa, MakeSend(SendOpcode::kWrite, i, a_.Remote(0)), a_.Bytes(4'096, 8));
  }
  const auto event = a_.events().Wait();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, AsyncEventType::kCqError);
  EXPECT_EQ(event->cq, cq);
  std::array<Completion, 8> out;
  EXPECT_EQ(*adapter().Poll(*cq, out), 2U);
  EXPECT_EQ(adapter().Poll(*cq, out).error(), queue::CqError::kOverflow);
}

// Two contexts of one adapter: each gets the events of its own objects.
TEST_F(AdapterQueuesTest, AnEventGoesToTheQueueOfItsObject) {
  EventQueue* const others = *adapter().CreateEventQueue();
  fcntl(others->fd(), F_SETFL, O_NONBLOCK);
  fcntl(a_.events().fd(), F_SETFL, O_NONBLOCK);
  QpInit spec = a_.Spec(QpType::kRc);
  spec.events = others;
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = **adapter().CreateQp(spec);
  Connect(a_, qa, a_, qb);
  Post(a_, qa, MakeSend(SendOpcode::kWrite, 1, RemoteAddress{.address = 8}), a_.Bytes(0, 8));
  EXPECT_EQ(a_.Wait()->status, CompletionStatus::kRemoteAccessError);
  const auto event = others->Wait();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->qp, qb.number());
  EXPECT_FALSE(a_.events().Wait().has_value());
  EXPECT_EQ(adapter().Destroy(others).error().code, ErrorCode::kInUse);
  Succeed(adapter().Destroy(&qb));
  Succeed(adapter().Destroy(others));
}

}  // namespace
}  // namespace verbena::adapter
