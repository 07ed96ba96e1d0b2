#include "adapter/completion_channel.h"

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

TEST_F(CompletionChannelTest, TellsWhichQueueInOrder) {
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

TEST_F(CompletionChannelTest, ForgetsAQueueThatGoes) {
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
