#include "host/channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends.data()), 0);
    one_.emplace(FileDescriptor(ends[0]));
    other_.emplace(FileDescriptor(ends[1]));
    std::string folder = "/tmp/verbena-channel-XXXXXX";
    folder_ = mkdtemp(folder.data());
  }
  ~ChannelTest() override { std::filesystem::remove_all(folder_); }

  std::optional<BrokerChannel> one_, other_;
  std::string folder_;
};

TEST_F(ChannelTest, MessagesAndFilesArrive) {
  EXPECT_FALSE(other_->Receive());
  EXPECT_FALSE(other_->has_ended());
  const FileDescriptor file(memfd_create("x", 0));
  ASSERT_EQ(ftruncate(file.get(), 12'345), 0);
  EXPECT_EQ(one_->Send(MemoryMessage{.number = 3}, file.get()), BrokerChannel::Status::kDone);
  const auto received = other_->Receive();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->message, BrokerMessage(MemoryMessage{.number = 3}));
  struct stat status {};
  ASSERT_EQ(fstat(received->file.get(), &status), 0);
  EXPECT_EQ(status.st_size, 12'345);
}

TEST_F(ChannelTest, TheEndOfTheOtherIsSeen) {
  one_.reset();
  EXPECT_FALSE(other_->Receive());
  EXPECT_TRUE(other_->has_ended());
  EXPECT_EQ(other_->Send(GoodbyeMessage{}), BrokerChannel::Status::kEnded);
}

TEST_F(ChannelTest, WhatIsNoMessageEndsTheConnection) {
  ASSERT_EQ(send(one_->fd(), "hello", 5, 0), 5);
  EXPECT_FALSE(other_->Receive());
  EXPECT_TRUE(other_->has_ended());
}

TEST_F(ChannelTest, AReaderThatDoesNotReadFillsIt) {
  int sent = 0;
  while (one_->Send(GrantMessage{}) == BrokerChannel::Status::kDone && sent < 100'000) ++sent;
  EXPECT_LT(sent, 100'000);
  EXPECT_EQ(one_->Send(GrantMessage{}), BrokerChannel::Status::kFull);
  ASSERT_TRUE(other_->Receive());
}

TEST_F(ChannelTest, ThePeerIsThisProcess) {
  const auto peer = one_->peer();
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_EQ(peer->uid, getuid());
}

TEST_F(ChannelTest, OneBrokerListensAtAPath) {
  const std::string path = folder_ + "/sub/broker.sock";
  EXPECT_FALSE(BrokerChannel::Connect(path));
  {
    const auto first = ListenAt(path);
    ASSERT_TRUE(first);
    EXPECT_TRUE(BrokerChannel::Connect(path));
    const auto second = ListenAt(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().os_error, EADDRINUSE);
  }
  const auto stale = BrokerChannel::Connect(path);
  ASSERT_FALSE(stale);
  EXPECT_NE(stale.error().text.find("no broker answers at " + path), std::string::npos);
  EXPECT_TRUE(ListenAt(path)) << "a socket that a dead broker left";
}

TEST_F(ChannelTest, OtherFilesAreLeftAlone) {
  const std::string path = folder_ + "/file";
  ASSERT_TRUE(FileDescriptor(open(path.c_str(), O_CREAT | O_WRONLY, 0600)).is_open());
  EXPECT_FALSE(ListenAt(path));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(ListenAt(std::string(200, 'x')));
  EXPECT_FALSE(ListenAt(""));
}

}  // namespace
}  // namespace verbena::host
