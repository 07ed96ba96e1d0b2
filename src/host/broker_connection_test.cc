#include "host/broker_connection.h"

#include <sys/socket.h>

#include <array>

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

class BrokerConnectionTest : public testing::Test {
 protected:
  void Connect(const ConnectionOptions& options) {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends.data()), 0);
    connection_.emplace(BrokerChannel(FileDescriptor(ends[0])), options, now_);
    other_.emplace(FileDescriptor(ends[1]));
  }

  Time now_{Seconds(1)};
  std::optional<BrokerConnection> connection_;
  std::optional<BrokerChannel> other_;
};

TEST_F(BrokerConnectionTest, MoreThanMayBeSentIsReadLater) {
  Connect({.burst_max = 2, .rate = 10});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(other_->Send(GoodbyeMessage{}), BrokerChannel::Status::kDone);
  EXPECT_TRUE(connection_->Receive(now_));
  EXPECT_TRUE(connection_->Receive(now_));
  EXPECT_FALSE(connection_->Receive(now_));
  EXPECT_TRUE(connection_->is_throttled(now_));
  EXPECT_FALSE(connection_->has_ended());
  now_ += Milliseconds(100);
  EXPECT_TRUE(connection_->Receive(now_));
}

TEST_F(BrokerConnectionTest, WhatIsNotReadWaitsUpToABound) {
  Connect({.unsent_max = 3});
  int sent = 0;
  while (!connection_->has_unsent()) {
    ASSERT_TRUE(connection_->Send(GrantMessage{.bytes = static_cast<uint64_t>(sent)}));
    ++sent;
  }
  EXPECT_TRUE(connection_->Send(GrantMessage{.bytes = static_cast<uint64_t>(sent++)}));
  EXPECT_TRUE(connection_->Send(GrantMessage{.bytes = static_cast<uint64_t>(sent++)}));
  EXPECT_FALSE(connection_->Send(GrantMessage{}));
  // In order, once there is room again.
  for (int i = 0; i < sent; ++i) {
    const auto received = other_->Receive();
    ASSERT_TRUE(received);
    EXPECT_EQ(std::get<GrantMessage>(received->message).bytes, static_cast<uint64_t>(i));
    ASSERT_TRUE(connection_->Flush());
  }
  EXPECT_FALSE(connection_->has_unsent());
}

TEST_F(BrokerConnectionTest, TheEndOfTheOtherIsSeen) {
  Connect({});
  other_.reset();
  EXPECT_FALSE(connection_->Send(GrantMessage{}));
  EXPECT_FALSE(connection_->Receive(now_));
  EXPECT_TRUE(connection_->has_ended());
}

}  // namespace
}  // namespace verbena::host
