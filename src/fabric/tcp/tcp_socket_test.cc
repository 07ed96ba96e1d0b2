#include "fabric/tcp/tcp_socket.h"

#include <poll.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

using End = TcpTransfer::End;

const IpAddress kHere = IpAddress::FromIpv4(127, 0, 0, 1);
const IpAddress kAnyIpv4Address = IpAddress::FromIpv4(0, 0, 0, 0);

TcpSocket Bound(const CmAddress& address = {.ip = kHere}, const TcpBindOptions& options = {}) {
  auto socket = TcpSocket::Bind(address, options);
  EXPECT_TRUE(socket.has_value()) << socket.error().text;
  return std::move(*socket);
}

TcpSocket Listening(const CmAddress& address = {.ip = kHere}, const TcpBindOptions& options = {}) {
  TcpSocket socket = Bound(address, options);
  EXPECT_TRUE(socket.Listen(8));
  return socket;
}

bool WaitFor(const TcpSocket& socket, short events) {
  pollfd file{.fd = socket.fd(), .events = events, .revents = 0};
  return poll(&file, 1, 20'000) == 1;
}

std::array<std::span<const std::byte>, 2> Pieces(std::string_view a, std::string_view b = {}) {
  return {std::as_bytes(std::span(a)), std::as_bytes(std::span(b))};
}

std::string ReadText(const TcpSocket& from, size_t count) {
  std::string text;
  while (text.size() < count && WaitFor(from, POLLIN)) {
    std::array<std::byte, 64> room;
    const auto read = from.Read(room);
    if (read.end != End::kNone) break;
    text.append(reinterpret_cast<const char*>(room.data()), read.bytes);
  }
  return text;
}

// Both ends of a connection.
struct Connection {
  Connection() {
    EXPECT_TRUE(client.Connect(listener.local()));
    EXPECT_TRUE(WaitFor(client, POLLOUT));
    EXPECT_EQ(client.ConnectError(), 0);
    EXPECT_TRUE(WaitFor(listener, POLLIN));
    auto accepted = listener.Accept();
    EXPECT_TRUE(accepted && *accepted);
    if (accepted && *accepted) server = std::move(**accepted);
  }

  TcpSocket listener = Listening();
  TcpSocket client = Bound();
  TcpSocket server;
};

TEST(TcpSocketTest, BothEndsKnowTheAddresses) {
  const Connection connection;
  EXPECT_EQ(connection.server.peer(), connection.client.local());
  EXPECT_EQ(connection.client.peer(), connection.listener.local());
  EXPECT_EQ(connection.client.local().ip, kHere);
}

TEST(TcpSocketTest, CarriesBytesInOrder) {
  const Connection connection;
  const TcpTransfer written = connection.client.Write(Pieces("first", " second"));
  EXPECT_EQ(written.bytes, 12u);
  EXPECT_EQ(written.end, End::kNone);
  EXPECT_EQ(ReadText(connection.server, 12), "first second");
}

TEST(TcpSocketTest, ReadsNeverWait) {
  const Connection connection;
  std::array<std::byte, 8> room;
  EXPECT_EQ(connection.server.Read(room).end, End::kBlocked);
  const auto accepted = connection.listener.Accept();
  EXPECT_TRUE(accepted && !accepted->has_value());
}

TEST(TcpSocketTest, WritesStopWhenTheSystemHasNoRoom) {
  const Connection connection;
  const std::string many(1 << 20, 'x');
  TcpTransfer written;
  for (int i = 0; i < 1'000 && written.end == End::kNone; ++i) {
    written = connection.client.Write(Pieces(many));
  }
  EXPECT_EQ(written.end, End::kBlocked);
}

TEST(TcpSocketTest, TheEndOfAStreamIsBehindItsBytes) {
  const Connection connection;
  EXPECT_EQ(connection.client.Write(Pieces("last")).bytes, 4u);
  connection.client.CloseWrites();
  EXPECT_EQ(ReadText(connection.server, 4), "last");
  ASSERT_TRUE(WaitFor(connection.server, POLLIN));
  std::array<std::byte, 8> room;
  EXPECT_EQ(connection.server.Read(room).end, End::kClosed);
}

TEST(TcpSocketTest, APeerThatIsGoneBreaksTheStream) {
  Connection connection;
  EXPECT_EQ(connection.client.Write(Pieces("unread")).bytes, 6u);
  ASSERT_TRUE(WaitFor(connection.server, POLLIN));
  connection.server = TcpSocket();  // with unread bytes: a reset
  ASSERT_TRUE(WaitFor(connection.client, POLLIN));
  std::array<std::byte, 8> room;
  EXPECT_EQ(connection.client.Read(room).end, End::kBroken);
  EXPECT_EQ(connection.client.Write(Pieces("more")).end, End::kBroken);
}

TEST(TcpSocketTest, APortWithoutListenerIsRefused) {
  const TcpSocket unheard = Bound();
  const TcpSocket client = Bound();
  ASSERT_TRUE(client.Connect(unheard.local()));
  ASSERT_TRUE(WaitFor(client, POLLOUT));
  EXPECT_EQ(client.ConnectError(), ECONNREFUSED);
}

TEST(TcpSocketTest, APortHasOneListener) {
  const TcpSocket first = Listening();
  const auto second = TcpSocket::Bind(first.local());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().os_error, EADDRINUSE);
}

TEST(TcpSocketTest, AWildcardOfIpv6IncludesIpv4UnlessItMustNot) {
  for (const bool own_family_only : {false, true}) {
    const TcpSocket listener = Listening({}, {.own_family_only = own_family_only});
    const TcpSocket client = Bound({.ip = kAnyIpv4Address});
    ASSERT_TRUE(client.Connect({.ip = kHere, .port = listener.local().port}));
    ASSERT_TRUE(WaitFor(client, POLLOUT));
    EXPECT_EQ(client.ConnectError(), own_family_only ? ECONNREFUSED : 0);
  }
}

TEST(TcpSocketTest, APeerLearnsOfAReset) {
  const Connection both;
  both.client.Reset();
  ASSERT_TRUE(WaitFor(both.server, POLLIN));
  std::array<std::byte, 8> room;
  EXPECT_EQ(both.server.Read(room).end, End::kBroken);
}

}  // namespace
}  // namespace verbena::fabric
