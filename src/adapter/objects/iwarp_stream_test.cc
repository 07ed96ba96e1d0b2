#include "adapter/objects/iwarp_stream.h"

#include <poll.h>

#include <vector>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

using fabric::TcpSocket;

class IwarpStreamTest : public testing::Test {
 protected:
  static constexpr size_t kBuffer = 4'096;

  IwarpStreamTest() {
    const TcpSocket listener = Bound();
    EXPECT_TRUE(listener.Listen(1));
    EXPECT_TRUE(peer_.Connect(listener.local()));
    Await(listener, POLLIN);
    stream_.emplace(StreamId(1), std::move(**listener.Accept()), StreamPhase::kOpen);
    stream_->AllocateSends(kBuffer);
    stream_->AllocateReceives(kBuffer);
  }

  static TcpSocket Bound() {
    return std::move(*TcpSocket::Bind({.ip = IpAddress::FromIpv4(127, 0, 0, 1)}));
  }
  static void Await(const TcpSocket& socket, short events) {
    pollfd file{.fd = socket.fd(), .events = events, .revents = 0};
    EXPECT_EQ(poll(&file, 1, 20'000), 1);
  }
  void Send(size_t count, uint8_t first) {
    std::vector<std::byte> bytes(count);
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + i);
    EXPECT_EQ(peer_.Write({std::span<const std::byte>(bytes), {}}).bytes, count);
    Await(stream_->socket().tcp(), POLLIN);
  }

  TcpSocket peer_ = Bound();
  std::optional<IwarpStream> stream_;
};

TEST_F(IwarpStreamTest, BytesThatWereNotTakenStay) {
  Send(10, 1);
  EXPECT_EQ(stream_->Read(), 10u);
  stream_->Take(4);
  Send(2, 11);
  EXPECT_EQ(stream_->Read(), 2u);
  ASSERT_EQ(stream_->received().size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(stream_->received()[i], static_cast<std::byte>(5 + i));
}

TEST_F(IwarpStreamTest, AFullBufferReadsNothing) {
  Send(kBuffer, 0);
  size_t count = 0;
  while (count < kBuffer) count += stream_->Read();
  EXPECT_FALSE(stream_->has_room());
  Send(1, 0);
  EXPECT_EQ(stream_->Read(), 0u);
  stream_->Take(1);
  EXPECT_EQ(stream_->Read(), 1u);
}

TEST_F(IwarpStreamTest, SendsWhatWasPutInOrder) {
  const std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
  stream_->Put(bytes);
  EXPECT_TRUE(stream_->has_unsent());
  EXPECT_EQ(stream_->Flush(), 3u);
  EXPECT_FALSE(stream_->has_unsent());
  Await(peer_, POLLIN);
  std::array<std::byte, 8> room;
  ASSERT_EQ(peer_.Read(room).bytes, 3u);
  EXPECT_EQ(room[2], std::byte{3});
}

// What the peer has sent before its end says why it ended.
TEST_F(IwarpStreamTest, AWriteThatIsRefusedLeavesWhatWasReceived) {
  Send(5, 1);
  stream_->Put(std::vector<std::byte>(8));
  stream_->Flush();
  Await(peer_, POLLIN);
  peer_ = TcpSocket();  // with unread bytes: a reset
  Await(stream_->socket().tcp(), POLLIN | POLLHUP);
  stream_->Put(std::vector<std::byte>(8));
  stream_->Flush();
  EXPECT_FALSE(stream_->has_unsent());
  EXPECT_EQ(stream_->Read(), 5u);
  EXPECT_FALSE(stream_->peer_has_closed());
  EXPECT_EQ(stream_->Read(), 0u);
  EXPECT_TRUE(stream_->peer_has_closed());
}

TEST_F(IwarpStreamTest, DiscardReadsToTheEnd) {
  Send(3'000, 0);
  peer_.CloseWrites();
  while (!stream_->peer_has_closed()) {
    Await(stream_->socket().tcp(), POLLIN);
    stream_->Discard();
  }
  EXPECT_FALSE(stream_->is_broken());
  EXPECT_TRUE(stream_->received().empty());
}

}  // namespace
}  // namespace verbena::adapter
