#include "fabric/sctp/sctp_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/raw_sctp.h"

namespace verbena::fabric {
namespace {

using Bytes = std::vector<std::byte>;
using End = TcpTransfer::End;

constexpr uint32_t kAdaptation = 1;
constexpr uint32_t kProtocol = 16;
const IpAddress kHere = IpAddress::FromIpv4(127, 0, 0, 1);

Time Now() {
  return Time() + Nanoseconds(std::chrono::steady_clock::now().time_since_epoch().count());
}

// One adapter's sockets, and what was reported of them.
struct Node {
  std::unique_ptr<SctpHub> hub = std::move(*SctpHub::Open());

  void Step() {
    hub->Pump(Now());
    std::array<ReadyId, 64> ready;
    const size_t count = hub->TakeReady(ready);
    for (size_t i = 0; i < count; ++i) seen.push_back(ready[i]);
  }
  std::vector<ReadyId> seen;
};

class SctpSocketTest : public testing::Test {
 protected:
  static constexpr Interest kReads{.reads = true};

  SctpSocketTest() {
    listener_ = Bound(server_);
    EXPECT_TRUE(listener_.Listen());
    listener_.Watch(ReadyId(1), kReads);
  }

  static SctpSocket Bound(Node& node, uint32_t adaptation = kAdaptation,
                          const IpAddress& ip = kHere) {
    return std::move(*SctpSocket::Bind(*node.hub, {.ip = ip}, adaptation));
  }
  // Until it is true, for at most 10 s.
  bool Await(const std::function<bool()>& is_true) {
    for (int i = 0; i < 2'000; ++i) {
      server_.Step();
      client_.Step();
      if (is_true()) return true;
      pollfd files[] = {{.fd = server_.hub->fd(), .events = POLLIN, .revents = 0},
                        {.fd = client_.hub->fd(), .events = POLLIN, .revents = 0}};
      poll(files, 2, 5);
    }
    return false;
  }
  void Connect() {
    ASSERT_TRUE(here_.Connect(listener_.local()));
    ASSERT_TRUE(Await([&] {
      if (!there_.is_open()) {
        if (auto accepted = listener_.Accept()) there_ = std::move(*accepted);
      }
      return there_.is_open() && here_.ConnectError() == 0;
    }));
  }
  static Bytes MessageOf(size_t size, uint8_t value) { return Bytes(size, std::byte{value}); }
  std::optional<Bytes> ReceiveAt(SctpSocket& socket) {
    std::optional<Bytes> message;
    Await([&] {
      const SctpMessage received = socket.Receive(scratch_);
      if (received.end != End::kNone) return received.end != End::kBlocked;
      EXPECT_EQ(received.protocol, kProtocol);
      message = Bytes(scratch_.begin(), scratch_.begin() + static_cast<ptrdiff_t>(received.bytes));
      return true;
    });
    return message;
  }
  End EndOf(SctpSocket& socket) {
    SctpMessage received;
    Await([&] {
      received = socket.Receive(scratch_);
      return received.end != End::kBlocked;
    });
    return received.end;
  }
  static size_t Links() {
    SctpStack& stack = SctpStack::Get();
    const SctpLock lock(stack);
    return stack.links();
  }
  // A datagram from elsewhere to the listener.
  void Send(const Bytes& bytes) const {
    const FileDescriptor file(socket(AF_INET, SOCK_DGRAM, 0));
    const SocketAddress to(SocketFamily::kIpv4, {kHere, listener_.local().port});
    EXPECT_EQ(sendto(file.get(), bytes.data(), bytes.size(), 0, to.get(), to.size()),
              static_cast<ssize_t>(bytes.size()));
  }

  Node server_;
  Node client_;
  SctpSocket listener_;
  SctpSocket here_ = Bound(client_);
  SctpSocket there_;
  Bytes scratch_ = Bytes(SctpSocket::kMessageMax);
};

TEST_F(SctpSocketTest, MessagesArriveWholeInBothDirections) {
  Connect();
  EXPECT_EQ(here_.peer().port, listener_.local().port);
  EXPECT_EQ(there_.peer().port, here_.local().port);
  EXPECT_EQ(there_.local().ip, kHere);
  for (const size_t size : {size_t{1}, size_t{1000}, here_.packet_message_max(), size_t{60'000}}) {
    const Bytes message = MessageOf(size, static_cast<uint8_t>(size));
    EXPECT_EQ(here_.Send(kProtocol, message), End::kNone);
    EXPECT_EQ(ReceiveAt(there_), message);
    EXPECT_EQ(there_.Send(kProtocol, message), End::kNone);
    EXPECT_EQ(ReceiveAt(here_), message);
  }
}

TEST_F(SctpSocketTest, ASocketIsReportedWhenItHasAMessage) {
  Connect();
  server_.seen.clear();
  there_.Watch(ReadyId(7), kReads);
  EXPECT_EQ(here_.Send(kProtocol, MessageOf(10, 1)), End::kNone);
  EXPECT_TRUE(Await([&] { return std::ranges::count(server_.seen, ReadyId(7)) > 0; }));
  EXPECT_TRUE(ReceiveAt(there_).has_value());
}

TEST_F(SctpSocketTest, ASenderIsBlockedUntilItsPeerReads) {
  Connect();
  const Bytes message = MessageOf(30'000, 5);
  size_t sent = 0;
  while (here_.Send(kProtocol, message) == End::kNone) ASSERT_LT(++sent, 1000);
  client_.seen.clear();
  here_.Watch(ReadyId(9), {.writes = true});
  for (size_t i = 0; i < sent; ++i) ASSERT_EQ(ReceiveAt(there_), message) << i;
  EXPECT_TRUE(Await([&] { return std::ranges::count(client_.seen, ReadyId(9)) > 0; }));
  EXPECT_EQ(here_.Send(kProtocol, message), End::kNone);
}

TEST_F(SctpSocketTest, WhatWasSentArrivesAlthoughTheSocketIsGone) {
  Connect();
  for (uint8_t i = 0; i < 5; ++i) EXPECT_EQ(here_.Send(kProtocol, MessageOf(9000, i)), End::kNone);
  here_ = {};
  EXPECT_TRUE(client_.hub->has_unacknowledged());
  for (uint8_t i = 0; i < 5; ++i) EXPECT_EQ(ReceiveAt(there_), MessageOf(9000, i));
  EXPECT_EQ(EndOf(there_), End::kClosed);
  there_ = {};
  EXPECT_TRUE(Await([&] { return !client_.hub->has_unacknowledged(); }));
}

TEST_F(SctpSocketTest, APortThatIsClosedRefuses) {
  CmAddress nothing = listener_.local();
  listener_ = {};
  ASSERT_TRUE(here_.Connect(nothing));
  EXPECT_TRUE(Await([&] { return here_.ConnectError() != EINPROGRESS; }));
  EXPECT_EQ(here_.ConnectError(), ECONNREFUSED);
}

// A process that ends closes its port at once: the system tells of that before it gives the last
// datagrams.
TEST_F(SctpSocketTest, WhatWasSentIsReadAlthoughThePortIsClosed) {
  Connect();
  for (uint8_t i = 0; i < 3; ++i) EXPECT_EQ(there_.Send(kProtocol, MessageOf(500, i)), End::kNone);
  there_ = {};
  listener_ = {};
  server_.hub.reset();
  EXPECT_EQ(here_.Send(kProtocol, MessageOf(10, 1)), End::kNone);
  client_.Step();
  for (uint8_t i = 0; i < 3; ++i) {
    const SctpMessage message = here_.Receive(scratch_);
    ASSERT_EQ(message.bytes, 500u);
    EXPECT_EQ(scratch_[0], std::byte{i});
  }
  EXPECT_EQ(here_.Receive(scratch_).end, End::kBroken);
}

TEST_F(SctpSocketTest, APortThatDoesNotListenRefuses) {
  const SctpSocket other = Bound(server_);
  ASSERT_TRUE(here_.Connect(other.local()));
  EXPECT_TRUE(Await([&] { return here_.ConnectError() != EINPROGRESS; }));
  EXPECT_EQ(here_.ConnectError(), ECONNREFUSED);
}

TEST_F(SctpSocketTest, APeerWithoutTheIndicationIsRefused) {
  here_ = Bound(client_, kAdaptation + 1);
  Connect();
  EXPECT_EQ(here_.Send(kProtocol, MessageOf(10, 1)), End::kNone);
  EXPECT_EQ(EndOf(there_), End::kBroken);
}

TEST_F(SctpSocketTest, AMessageThatIsTooLongBreaksTheAssociation) {
  Connect();
  EXPECT_EQ(here_.Send(kProtocol, MessageOf(SctpSocket::kMessageMax + 10'000, 1)), End::kNone);
  EXPECT_EQ(EndOf(there_), End::kBroken);
}

TEST_F(SctpSocketTest, TwoListenersOfAProcessHaveTheirOwnPorts) {
  SctpSocket second = Bound(server_);
  ASSERT_TRUE(second.Listen());
  EXPECT_NE(second.local().port, listener_.local().port);
  ASSERT_TRUE(here_.Connect(second.local()));
  std::optional<SctpSocket> accepted;
  EXPECT_TRUE(Await([&] {
    if (!accepted) accepted = second.Accept();
    return accepted.has_value();
  }));
  EXPECT_FALSE(listener_.Accept().has_value());
}

// As perftest does, which listens again for each connection.
TEST_F(SctpSocketTest, APortCanBeBoundAgainWhileItsConnectionsLive) {
  Connect();
  const CmAddress address = listener_.local();
  EXPECT_FALSE(SctpSocket::Bind(*server_.hub, address, kAdaptation).has_value());
  listener_ = {};
  listener_ = std::move(*SctpSocket::Bind(*server_.hub, address, kAdaptation));
  ASSERT_TRUE(listener_.Listen());
  SctpSocket second = Bound(client_);
  ASSERT_TRUE(second.Connect(address));
  EXPECT_TRUE(Await([&] { return listener_.Accept().has_value(); }));
  EXPECT_EQ(here_.Send(kProtocol, MessageOf(10, 1)), End::kNone);
  EXPECT_TRUE(ReceiveAt(there_).has_value());
}

TEST_F(SctpSocketTest, IPv6Works) {
  const IpAddress here6 = IpAddress::Ipv6Loopback();
  listener_ = Bound(server_, kAdaptation, here6);
  here_ = Bound(client_, kAdaptation, here6);
  ASSERT_TRUE(listener_.Listen());
  Connect();
  EXPECT_EQ(here_.Send(kProtocol, MessageOf(5000, 1)), End::kNone);
  EXPECT_EQ(ReceiveAt(there_), MessageOf(5000, 1));
}

TEST_F(SctpSocketTest, APacketWithAWrongChecksumIsDropped) {
  RawSctpPeer peer(listener_.local().port);
  Bytes init = peer.Packet(0, peer.Init());
  constexpr size_t kOfTheWindow = 20;
  init[kOfTheWindow] ^= std::byte{1};
  peer.SendDatagram(init);
  server_.Step();
  EXPECT_FALSE(peer.TakeCookie(0));
  peer.Send(peer.Init());
  server_.Step();
  EXPECT_TRUE(peer.TakeCookie(0));
}

// User space has nothing that tells of a peer that is gone, but heartbeats.
TEST_F(SctpSocketTest, APeerThatHasVanishedIsNoticed) {
  Connect();
  Time now = Now();
  const Time start = now;
  bool is_noticed = false;
  while (!is_noticed && now < start + Seconds(60)) {
    now = now + Milliseconds(20);
    server_.hub->Pump(now);
    is_noticed = there_.Receive(scratch_).end == End::kBroken;
  }
  EXPECT_LT(now - start, Seconds(30));
}

// A connection that works beside it is not disturbed, and nothing is remembered.
TEST_F(SctpSocketTest, GarbageIsDropped) {
  Connect();
  const size_t links = Links();
  Random random(7);
  for (int i = 0; i < 2'000; ++i) {
    Bytes bytes(random.Below(300));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(256));
    if (bytes.size() >= 4 && random.Chance(1, 2)) {
      bytes[2] = static_cast<std::byte>(listener_.local().port >> 8);
      bytes[3] = static_cast<std::byte>(listener_.local().port);
    }
    Send(bytes);
    if (i % 16 == 0) server_.Step();
  }
  EXPECT_EQ(here_.Send(kProtocol, MessageOf(10, 1)), End::kNone);
  EXPECT_TRUE(ReceiveAt(there_).has_value());
  EXPECT_EQ(Links(), links);
}

// RFC 9260, 5.1.3: the answer to an INIT is a cookie, and the listener remembers nothing.
TEST_F(SctpSocketTest, AFloodOfInitsLeavesNothing) {
  const size_t links = Links();
  std::vector<SctpSocket> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(Bound(client_));
    ASSERT_TRUE(clients.back().Connect(listener_.local()));  // sends an INIT
    server_.Step();
  }
  EXPECT_EQ(Links(), links + clients.size()) << "those of the clients alone";
  EXPECT_FALSE(listener_.Accept().has_value());
}

}  // namespace
}  // namespace verbena::fabric
