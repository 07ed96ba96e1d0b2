#include "fabric/sctp/sctp_port.h"

#include <poll.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

using Bytes = std::vector<std::byte>;

const IpAddress kHere = IpAddress::FromIpv4(127, 0, 0, 1);

std::shared_ptr<SctpPort> Opened(const IpAddress& ip = kHere) {
  return std::move(*SctpPort::Open({.ip = ip}, {}));
}

SctpPort::Received ReceivedBy(const SctpPort& port, std::span<std::byte> into) {
  pollfd file{.fd = port.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&file, 1, 20'000), 1);
  return port.Receive(into);
}

TEST(SctpPortTest, DatagramsKnowBothEnds) {
  for (const IpAddress& ip : {kHere, IpAddress::Ipv6Loopback()}) {
    const auto a = Opened(ip);
    const auto b = Opened(ip);
    const Bytes sent(100, std::byte{7});
    a->Send({.peer = {ip, b->local().port}}, sent);
    Bytes into(200);
    const auto received = ReceivedBy(*b, into);
    ASSERT_EQ(received.size, 100);
    EXPECT_EQ(Bytes(into.begin(), into.begin() + 100), sent);
    EXPECT_EQ(received.path.peer, (UdpAddress{ip, a->local().port}));
    EXPECT_EQ(received.path.local, ip);
    EXPECT_EQ(b->Receive(into).size, 0) << "none waits";
    // The answer comes from the address that the question was sent to.
    b->Send(received.path, sent);
    EXPECT_EQ(ReceivedBy(*a, into).path.peer, (UdpAddress{ip, b->local().port}));
  }
}

TEST(SctpPortTest, AWildcardServesBothFamilies) {
  const auto any = Opened(IpAddress());
  const auto client = Opened();
  client->Send({.peer = {kHere, any->local().port}}, Bytes(20));
  Bytes into(200);
  const auto received = ReceivedBy(*any, into);
  EXPECT_EQ(received.size, 20);
  EXPECT_EQ(received.path.local, kHere);
  any->Send(received.path, Bytes(30));
  EXPECT_EQ(ReceivedBy(*client, into).size, 30);
}

TEST(SctpPortTest, AConnectedPortHearsThatThePeerIsClosed) {
  CmAddress closed{.ip = kHere};
  closed.port = Opened()->local().port;
  const auto port = Opened();
  ASSERT_TRUE(port->ConnectTo(closed));
  port->Send({}, Bytes(20));
  Bytes into(200);
  EXPECT_TRUE(ReceivedBy(*port, into).is_refused);
}

TEST(SctpPortTest, ADatagramThatIsCutIsNoPacket) {
  const auto a = Opened();
  const auto b = Opened();
  a->Send({.peer = {kHere, b->local().port}}, Bytes(500));
  Bytes into(200);
  EXPECT_EQ(ReceivedBy(*b, into).size, 1);
}

TEST(SctpPortTest, APortIsTakenOnce) {
  const auto first = Opened();
  EXPECT_FALSE(SctpPort::Open(first->local(), {}).has_value());
}

TEST(SctpPortTest, ThePathSaysHowLongADatagramIs) {
  // The loopback interface: 65,536 bytes, unless it was changed.
  const size_t here = SctpPort::DatagramMax({.peer = {kHere, 9}});
  EXPECT_GE(here, 1'252);
  EXPECT_LE(here, 65'507);
}

}  // namespace
}  // namespace verbena::fabric
