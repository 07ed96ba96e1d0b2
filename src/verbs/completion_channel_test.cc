#include "verbena/completion_channel.h"

#include <fcntl.h>
#include <poll.h>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

constexpr int kPatienceMs = 10'000;

class CompletionChannelTest : public VerbsPairTest {
 protected:
  void SetUp() override {
    QpSpec spec = b_.Spec();
    spec.receive_cq = &cq_;
    qb_ = Good(QueuePair::Create(b_.domain, spec));
    ConnectPair(a_, qa_, b_, qb_);
  }

  CompletionChannel channel_ = Good(CompletionChannel::Create(b_.context));
  CompletionQueue cq_ = Good(CompletionQueue::Create(b_.context, 16, &channel_));
};

TEST_F(CompletionChannelTest, WakesAWaitingThread) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(qb_.Post(Receive{.data = b_.region.Local(0, 64)}));
    ASSERT_TRUE(cq_.RequestNotify());
    std::array<Completion, 1> out;
    ASSERT_EQ(cq_.Poll(out).value(), 0U);
    ASSERT_TRUE(qa_.Post(Send{.data = a_.region.Local(0, 64)}));
    EXPECT_EQ(channel_.Wait(), cq_.id());
    EXPECT_EQ(cq_.Poll(out).value(), 1U);
    ASSERT_TRUE(a_.Wait().has_value());
  }
}

TEST_F(CompletionChannelTest, IgnoresUnsolicitedCompletions) {
  fcntl(channel_.fd(), F_SETFL, O_NONBLOCK);
  ASSERT_TRUE(cq_.RequestNotify(Notify::kSolicited));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(qb_.Post(Receive{.data = b_.region.Local(0, 64)}));
  ASSERT_TRUE(qa_.Post(Send{.data = a_.region.Local(0, 64)}));
  ASSERT_TRUE(b_.Wait(&cq_).has_value());
  EXPECT_EQ(channel_.Wait(), std::nullopt);
  ASSERT_TRUE(qa_.Post(Send{.data = a_.region.Local(0, 64), .flags = {.solicited = true}}));
  // The event follows the completion: a thread that polls may be ahead of the one that raises it.
  pollfd file{.fd = channel_.fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&file, 1, kPatienceMs), 1);
  EXPECT_EQ(channel_.Wait(), cq_.id());
  EXPECT_TRUE(b_.Wait(&cq_).has_value());
}

TEST_F(CompletionChannelTest, OutlivesItsHandleForItsQueues) {
  EXPECT_EQ(CodeOf(channel_.Destroy()), ErrorCode::kInUse);
  channel_ = {};
  EXPECT_EQ(channel_.fd(), -1);
  EXPECT_EQ(channel_.Wait(), std::nullopt);
  EXPECT_EQ(CodeOf(channel_.Destroy()), ErrorCode::kInvalid);
  ASSERT_TRUE(cq_.RequestNotify());
  ASSERT_TRUE(qb_.Post(Receive{.data = b_.region.Local(0, 64)}));
  ASSERT_TRUE(qa_.Post(Send{.data = a_.region.Local(0, 64)}));
  EXPECT_TRUE(b_.Wait(&cq_).has_value());
}

TEST_F(CompletionChannelTest, BelongsToItsContext) {
  EXPECT_EQ(CodeOf(CompletionQueue::Create(a_.context, 16, &channel_)), ErrorCode::kInvalid);
  const CompletionChannel none;
  EXPECT_EQ(CodeOf(CompletionQueue::Create(b_.context, 16, &none)), ErrorCode::kInvalid);
  CompletionChannel unused = Good(CompletionChannel::Create(b_.context));
  Good(unused.Destroy());
}

}  // namespace
}  // namespace verbena
