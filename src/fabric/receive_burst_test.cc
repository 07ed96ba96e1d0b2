#include "fabric/receive_burst.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <array>

#include <gtest/gtest.h>

#include "fabric/interfaces.h"
#include "tests/support/udp_peers.h"

namespace verbena::fabric {
namespace {

constexpr IpAddress kLoopback = IpAddress::FromIpv4(127, 0, 0, 1);

// A receiver, and a plain socket that sends to it: the transmitter is tested elsewhere.
class ReceiveBurstTest : public testing::TestWithParam<bool> {
 protected:
  ReceiveBurstTest() {
    options_ = TestOptions();
    options_.socket.offloads = GetParam();
  }

  void Open() { fabric_ = OpenOrDie(options_); }

  void Send(const std::vector<std::byte>& bytes) const {
    const SocketAddress to(SocketFamily::kIpv4, {kLoopback, fabric_->port()});
    ASSERT_EQ(sendto(sender_.get(), bytes.data(), bytes.size(), 0, to.get(), to.size()),
              static_cast<ssize_t>(bytes.size()));
  }

  UdpFabricOptions options_;
  std::unique_ptr<UdpFabric> fabric_;
  const FileDescriptor sender_{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

INSTANTIATE_TEST_SUITE_P(Offloads, ReceiveBurstTest, testing::Bool());

TEST_P(ReceiveBurstTest, NothingThere) {
  Open();
  EXPECT_TRUE(fabric_->Receive().empty());
  EXPECT_EQ(fabric_->receive_counters().system_calls, 1u);
  EXPECT_EQ(fabric_->receive_counters().messages, 0u);
}

TEST_P(ReceiveBurstTest, OneCallReceivesAllDatagrams) {
  Open();
  for (size_t i = 0; i < 10; ++i) Send(TestBytes(100 + i, i));
  const auto datagrams = fabric_->Receive();
  ASSERT_EQ(datagrams.size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    const auto expected = TestBytes(100 + i, i);
    EXPECT_TRUE(std::ranges::equal(datagrams[i].bytes, expected));
    EXPECT_EQ(datagrams[i].to, kLoopback);
    EXPECT_EQ(datagrams[i].from.ip, kLoopback);
    EXPECT_EQ(datagrams[i].segment, 0);
    EXPECT_NE(datagrams[i].interface, 0u);
  }
  EXPECT_EQ(fabric_->receive_counters().system_calls, 1u);
  EXPECT_EQ(fabric_->receive_counters().datagrams, 10u);
  EXPECT_EQ(fabric_->receive_counters().bytes, 1'045u);
}

TEST_P(ReceiveBurstTest, TheFirstDatagramsAfterIdleAreReceivedSingly) {
  Open();
  EXPECT_TRUE(fabric_->Receive().empty());
  for (size_t i = 0; i < 6; ++i) Send(TestBytes(10, i));
  for (size_t i = 0; i < kStreak; ++i) {
    const auto one = fabric_->Receive();
    ASSERT_EQ(one.size(), 1u);
    EXPECT_TRUE(std::ranges::equal(one[0].bytes, TestBytes(10, i)));
  }
  const auto rest = fabric_->Receive();
  ASSERT_EQ(rest.size(), 6 - kStreak);
  EXPECT_TRUE(std::ranges::equal(rest.back().bytes, TestBytes(10, 5)));
}

TEST_P(ReceiveBurstTest, MoreThanABurstWaitsForTheNext) {
  options_.receive.messages = 4;
  Open();
  for (size_t i = 0; i < 6; ++i) Send(TestBytes(10, i));
  EXPECT_EQ(fabric_->Receive().size(), 4u);
  const auto rest = fabric_->Receive();
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_TRUE(std::ranges::equal(rest[1].bytes, TestBytes(10, 5)));
}

TEST_P(ReceiveBurstTest, AddressedToAnyLocalAddress) {
  Open();
  const IpAddress other = IpAddress::FromIpv4(127, 1, 2, 3);
  const SocketAddress to(SocketFamily::kIpv4, {other, fabric_->port()});
  ASSERT_EQ(sendto(sender_.get(), "x", 1, 0, to.get(), to.size()), 1);
  const auto datagrams = fabric_->Receive();
  ASSERT_EQ(datagrams.size(), 1u);
  EXPECT_EQ(datagrams[0].to, other);
}

TEST_P(ReceiveBurstTest, EmptyDatagramsAreDatagrams) {
  Open();
  Send({});
  Send(TestBytes(5, 1));
  const auto datagrams = fabric_->Receive();
  ASSERT_EQ(datagrams.size(), 2u);
  EXPECT_TRUE(datagrams[0].bytes.empty());
  EXPECT_EQ(datagrams[1].bytes.size(), 5u);
}

// With coalescing there is room for the longest IP packet, so no datagram is too long.
TEST_P(ReceiveBurstTest, DatagramsThatAreTooLongAreDroppedAndCounted) {
  Open();
  Send(TestBytes(options_.receive.datagram_bytes, 1));
  Send(TestBytes(options_.receive.datagram_bytes + 1, 2));
  const auto datagrams = fabric_->Receive();
  ASSERT_FALSE(datagrams.empty());
  EXPECT_EQ(datagrams[0].bytes.size(), options_.receive.datagram_bytes);
  EXPECT_EQ(datagrams.size(), fabric_->socket().coalescing() ? 2u : 1u);
  EXPECT_EQ(fabric_->receive_counters().malformed, fabric_->socket().coalescing() ? 0u : 1u);
}

// Datagrams that do not fit the kernel's buffer are lost and counted.
TEST_P(ReceiveBurstTest, ExcessDatagramsAreDroppedByTheKernel) {
  options_.socket.receive_buffer_bytes = 16 << 10;
  Open();
  constexpr size_t kSent = 500;
  for (size_t i = 0; i < kSent; ++i) Send(TestBytes(1'000, i));
  size_t received = 0;
  while (true) {
    const auto datagrams = fabric_->Receive();
    if (datagrams.empty()) break;
    for (const ReceivedDatagram& datagram : datagrams) {
      ASSERT_TRUE(std::ranges::equal(datagram.bytes, TestBytes(1'000, received)));
      ++received;
    }
  }
  EXPECT_GT(received, 0u);
  ASSERT_LT(received, kSent);
  EXPECT_EQ(fabric_->receive_counters().kernel_drops, kSent - received);
}

// A receiver whose stream has ended.
class LoneDatagrams : public ReceiveBurstTest {
 protected:
  LoneDatagrams() {
    fabric_ = std::move(*UdpFabric::Open(options_));
    for (uint64_t i = 0; i < kStreamEnd; ++i) EXPECT_TRUE(fabric_->Receive().empty());
  }
  // As one message, if the kernel segments it.
  void SendCoalesced(size_t segments) const {
    const int size = 100;
    ASSERT_EQ(setsockopt(sender_.get(), IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)), 0);
    Send(TestBytes(segments * 100, 1));
  }
};

INSTANTIATE_TEST_SUITE_P(Offloads, LoneDatagrams, testing::Bool());

TEST_P(LoneDatagrams, AreReceivedWhole) {
  for (size_t i = 0; i < 3; ++i) {
    Send(TestBytes(64 + i, i));
    const auto datagrams = fabric_->Receive();
    ASSERT_EQ(datagrams.size(), 1u);
    EXPECT_TRUE(std::ranges::equal(datagrams[0].bytes, TestBytes(64 + i, i)));
    EXPECT_EQ(datagrams[0].from.ip, kLoopback);
    EXPECT_TRUE(fabric_->Receive().empty());
  }
  EXPECT_EQ(fabric_->receive_counters().malformed, 0u);
}

// A burst that arrives as one message is split here, and soon received as a stream.
TEST_P(LoneDatagrams, BecomeAStream) {
  const auto sent = TestBytes(800, 1);
  SendCoalesced(8);
  size_t received = 0;
  for (size_t calls = 0; calls < 3; ++calls) {
    for (const ReceivedDatagram& datagram : fabric_->Receive()) {
      EXPECT_TRUE(std::ranges::equal(datagram.bytes, std::span(sent).subspan(received, 100)));
      received += 100;
    }
  }
  EXPECT_EQ(received, sent.size());
  SendCoalesced(8);
  const auto datagrams = fabric_->Receive();
  ASSERT_EQ(datagrams.size(), 8u);
  EXPECT_EQ(datagrams.back().segment, GetParam() ? 7 : 0);
}

TEST_P(LoneDatagrams, DatagramsThatAreTooLongAreDroppedAndCounted) {
  Send(TestBytes(options_.receive.datagram_bytes + 1, 1));
  EXPECT_EQ(fabric_->Receive().size(), fabric_->socket().coalescing() ? 1u : 0u);
  EXPECT_EQ(fabric_->receive_counters().malformed, fabric_->socket().coalescing() ? 0u : 1u);
}

TEST_P(ReceiveBurstTest, HeadersAreReportedOnRequest) {
  fabric_ = std::move(*UdpFabric::Open(options_));
  const int type_of_service = 0xB8;
  ASSERT_EQ(setsockopt(sender_.get(), IPPROTO_IP, IP_TOS, &type_of_service, sizeof(int)), 0);
  for (const bool asked : {false, true}) {
    if (asked) fabric_->ReportHeaders();
    Send(TestBytes(5, 1));
    const auto datagrams = fabric_->Receive();
    ASSERT_EQ(datagrams.size(), 1u);
    EXPECT_EQ(datagrams[0].from.ip, kLoopback);
    EXPECT_EQ(datagrams[0].to, asked ? kLoopback : IpAddress{});
    EXPECT_EQ(datagrams[0].interface != 0, asked);
    EXPECT_EQ(datagrams[0].traffic_class, asked ? type_of_service : 0);
  }
}

}  // namespace
}  // namespace verbena::fabric
