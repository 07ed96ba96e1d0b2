#include "adapter/objects/completion_channel.h"

#include <fcntl.h>
#include <poll.h>

#include <thread>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

class CompletionChannelTest : public testing::Test {
 protected:
  void SetUp() override { fcntl(channel_.fd(), F_SETFL, O_NONBLOCK); }
  bool IsReadable() {
    pollfd wait{.fd = channel_.fd(), .events = POLLIN, .revents = 0};
    return poll(&wait, 1, 0) == 1;
  }

  CompletionChannel channel_{std::move(*EventFile::Open(true))};
  Cq a_{4, &channel_}, b_{4, &channel_};
};

TEST_F(CompletionChannelTest, ReturnsTheQueuesInOrderOfTheirEvents) {
  EXPECT_FALSE(IsReadable());
  EXPECT_EQ(channel_.Wait(), nullptr);
  channel_.Raise(b_);
  channel_.Raise(a_);
  EXPECT_TRUE(IsReadable());
  EXPECT_EQ(channel_.Wait(), &b_);
  EXPECT_EQ(channel_.Wait(), &a_);
  EXPECT_EQ(channel_.Wait(), nullptr);
  EXPECT_FALSE(IsReadable());
}

TEST_F(CompletionChannelTest, CountsTheEventsOfOneQueue) {
  channel_.Raise(a_);
  channel_.Raise(a_);
  channel_.Raise(b_);
  EXPECT_EQ(channel_.Wait(), &a_);
  EXPECT_EQ(channel_.Wait(), &b_);
  EXPECT_EQ(channel_.Wait(), &a_);
  EXPECT_EQ(channel_.Wait(), nullptr);
}

TEST_F(CompletionChannelTest, AnExpectedEventNeedsNoFileAndLaterOnesDo) {
  channel_.Expect();
  EXPECT_FALSE(channel_.has_expected());
  channel_.Raise(a_);
  EXPECT_TRUE(channel_.has_expected());
  EXPECT_FALSE(IsReadable());
  channel_.Raise(b_);
  EXPECT_TRUE(IsReadable());
  EXPECT_EQ(channel_.TakeExpected(), &a_);
  EXPECT_EQ(channel_.TryWait(), &b_);
  EXPECT_EQ(channel_.TryWait(), nullptr);
}

TEST_F(CompletionChannelTest, AnEventThatWasExpectedInVainNeedsTheFile) {
  channel_.Expect();
  EXPECT_EQ(channel_.TakeExpected(), nullptr);
  channel_.Raise(a_);
  EXPECT_TRUE(IsReadable());
  EXPECT_EQ(channel_.TryWait(), &a_);
}

// The thread takes the older event; the signal of that event is left for the expected one.
TEST_F(CompletionChannelTest, AThreadThatExpectsAnEventTakesTheOldest) {
  channel_.Raise(b_);
  channel_.Expect();
  channel_.Raise(a_);
  EXPECT_EQ(channel_.TakeExpected(), &b_);
  EXPECT_TRUE(IsReadable());
  EXPECT_EQ(channel_.TryWait(), &a_);
  EXPECT_FALSE(IsReadable());
}

TEST_F(CompletionChannelTest, DropsTheEventsOfADestroyedQueue) {
  channel_.Raise(a_);
  channel_.Raise(b_);
  channel_.Raise(a_);
  channel_.Forget(a_);
  channel_.Forget(a_);
  EXPECT_EQ(channel_.Wait(), &b_);
  EXPECT_EQ(channel_.Wait(), nullptr);
  channel_.Raise(b_);
  channel_.Forget(b_);
  EXPECT_EQ(channel_.Wait(), nullptr);
}

TEST_F(CompletionChannelTest, StaysConsistentAsEventsAreTakenAndDropped) {
  EXPECT_TRUE(channel_.IsConsistent());
  channel_.Raise(a_);
  channel_.Raise(b_);
  channel_.Raise(a_);
  EXPECT_TRUE(channel_.IsConsistent());
  channel_.Forget(b_);
  EXPECT_TRUE(channel_.IsConsistent());
  EXPECT_EQ(channel_.Wait(), &a_);
  EXPECT_TRUE(channel_.IsConsistent());
}

TEST(CompletionChannelThreads, WakesASleeper) {
  CompletionChannel channel(std::move(*EventFile::Open(true)));
  Cq cq(4, &channel);
  Cq* seen = nullptr;
  std::jthread sleeper([&] { seen = channel.Wait(); });
  channel.Raise(cq);
  sleeper.join();
  EXPECT_EQ(seen, &cq);
}

}  // namespace
}  // namespace verbena::adapter
