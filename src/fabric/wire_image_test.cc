// The packets that the kernel sends for our datagrams on an interface with the usual MTU: needs
// root.

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_reader.h"
#include "fabric/interfaces.h"
#include "tests/support/own_network.h"
#include "tests/support/udp_peers.h"

namespace verbena::fabric {
namespace {

using Packet = OwnNetwork::Packet;

constexpr uint16_t kPort = kRocePort;
constexpr Route kIpv4Route{.from = OwnNetwork::kIpv4, .to = {OwnNetwork::kIpv4Peer, kPort}};
constexpr Route kIpv6Route{.from = OwnNetwork::kIpv6, .to = {OwnNetwork::kIpv6Peer, kPort}};
constexpr size_t kIpv4HeaderSize = 20;
constexpr size_t kIpv6HeaderSize = 40;
constexpr size_t kUdpHeaderSize = 8;
constexpr uint8_t kUdp = 17;

uint16_t Load16(const Packet& packet, size_t offset) {
  uint16_t value = 0;
  std::memcpy(&value, &packet[offset], sizeof(value));
  return BigEndian(value);
}

void Store16(Packet& packet, size_t offset, uint16_t value) {
  value = BigEndian(value);
  std::memcpy(&packet[offset], &value, sizeof(value));
}

bool IsIpv4(const Packet& packet) { return static_cast<uint8_t>(packet[0]) >> 4 == 4; }
bool IsUdp(const Packet& packet) {
  return static_cast<uint8_t>(packet[IsIpv4(packet) ? 9 : 6]) == kUdp;
}

// The packets sent, without IPv6's own messages.
std::vector<Packet> ReadUdp(const OwnNetwork& network) {
  std::vector<Packet> packets;
  while (auto packet = network.Read()) {
    if (IsUdp(*packet)) packets.push_back(std::move(*packet));
  }
  return packets;
}

Packet PayloadOf(const Packet& packet) {
  const size_t headers = (IsIpv4(packet) ? kIpv4HeaderSize : kIpv6HeaderSize) + kUdpHeaderSize;
  return {packet.begin() + static_cast<ptrdiff_t>(headers), packet.end()};
}

// The sum of RFC 1071 over an even number of bytes.
uint16_t Checksum(const Packet& packet, size_t begin, size_t end) {
  uint32_t sum = 0;
  for (size_t i = begin; i < end; i += 2) sum += Load16(packet, i);
  while (sum > UINT16_MAX) sum = (sum & UINT16_MAX) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

UdpFabricOptions Options(bool offloads) {
  UdpFabricOptions options;
  options.socket.offloads = offloads;
  return options;
}

// Three full datagrams and a shorter one on each route; every header byte that the ICRC covers must
// be as predicted.
void ExpectPredictableHeaders(const OwnNetwork& network, bool offloads) {
  const auto fabric = OpenOrDie(Options(offloads));
  const std::vector<size_t> sizes{1'072, 1'072, 1'072, 60};
  for (const Route& route : {kIpv4Route, kIpv6Route}) {
    std::vector<uint16_t> ids;
    for (size_t i = 0; i < sizes.size(); ++i) {
      ids.push_back(Stage(*fabric, route, TestBytes(sizes[i], i)).value());
    }
    ASSERT_EQ(fabric->Flush(), FlushResult::kDone);
    const auto packets = ReadUdp(network);
    ASSERT_EQ(packets.size(), sizes.size());
    for (size_t i = 0; i < packets.size(); ++i) {
      const Packet& packet = packets[i];
      EXPECT_EQ(PayloadOf(packet), TestBytes(sizes[i], i));
      const bool ipv4 = route == kIpv4Route;
      const size_t udp = ipv4 ? kIpv4HeaderSize : kIpv6HeaderSize;
      ASSERT_EQ(packet.size(), udp + kUdpHeaderSize + sizes[i]);
      EXPECT_EQ(Load16(packet, udp), fabric->port());
      EXPECT_EQ(Load16(packet, udp + 2), kPort);
      EXPECT_EQ(Load16(packet, udp + 4), kUdpHeaderSize + sizes[i]);
      if (!ipv4) continue;
      EXPECT_EQ(static_cast<uint8_t>(packet[0]), 0x45);
      EXPECT_EQ(Load16(packet, 2), packet.size());
      EXPECT_EQ(Load16(packet, 4), ids[i]) << "identification";
      EXPECT_EQ(Load16(packet, 6), 0x4000) << "DF and nothing else";
    }
  }
}

TEST(WireImage, HeadersArePredictablePlain) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) { ExpectPredictableHeaders(network, false); });
}

TEST(WireImage, HeadersArePredictableOffloaded) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) { ExpectPredictableHeaders(network, true); });
}

// A peer that returns every packet, with swapped addresses and equal ports.
TEST(WireImage, ResponsesArrive) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    const auto fabric = OpenOrDie(Options(true));
    for (const Route& route : {kIpv4Route, kIpv6Route}) {
      ASSERT_TRUE(Stage(*fabric, route, TestBytes(900, 1)));
      ASSERT_EQ(fabric->Flush(), FlushResult::kDone);
      for (Packet& packet : ReadUdp(network)) {
        const auto source = packet.begin() + (IsIpv4(packet) ? 12 : 8);
        const ptrdiff_t size = IsIpv4(packet) ? 4 : 16;
        std::swap_ranges(source, source + size, source + size);
        ASSERT_TRUE(network.Write(packet));
      }
      const auto received = ReceiveAll(*fabric, 1);
      ASSERT_EQ(received.size(), 1u);
      EXPECT_EQ(received[0].bytes, TestBytes(900, 1));
      EXPECT_EQ(received[0].datagram.from, route.to);
      EXPECT_EQ(received[0].datagram.to, route.from);
      EXPECT_EQ(received[0].datagram.interface, network.index());
    }
  });
}

TEST(WireImage, DatagramsAboveTheMtuAreDroppedAndCounted) {
  for (const bool offloads : {false, true}) {
    RUN_IN_OWN_NETWORK(kIp, [offloads](OwnNetwork& network) {
      const auto fabric = OpenOrDie(Options(offloads));
      const size_t fits = DatagramBytesMax(OwnNetwork::kMtu, kIpv4Route.to.ip);
      ASSERT_TRUE(Stage(*fabric, kIpv4Route, TestBytes(fits + 1, 0)));
      ASSERT_TRUE(Stage(*fabric, kIpv4Route, TestBytes(fits + 1, 1)));
      ASSERT_TRUE(Stage(*fabric, kIpv6Route, TestBytes(fits, 2)));  // the IPv6 header is longer
      ASSERT_TRUE(Stage(*fabric, kIpv4Route, TestBytes(fits, 3)));
      EXPECT_EQ(fabric->Flush(), FlushResult::kDone);
      EXPECT_EQ(fabric->transmit_counters().dropped_for(SendDrop::kTooLong), 3u);
      EXPECT_EQ(fabric->transmit_counters().datagrams, 1u);
      const auto packets = ReadUdp(network);
      ASSERT_EQ(packets.size(), 1u);
      EXPECT_EQ(PayloadOf(packets[0]), TestBytes(fits, 3));
    });
  }
}

// ICMP "fragmentation needed" (RFC 1191 section 4), as a router would send for `packet`.
Packet FragmentationNeeded(const Packet& packet, uint16_t mtu) {
  constexpr size_t kIcmp = kIpv4HeaderSize;
  constexpr size_t kQuote = kIcmp + 8;
  Packet answer(kQuote + kIpv4HeaderSize + 8);
  std::copy_n(packet.begin(), kIpv4HeaderSize, answer.begin());
  std::copy_n(packet.begin(), kIpv4HeaderSize + 8, answer.begin() + kQuote);
  std::swap_ranges(answer.begin() + 12, answer.begin() + 16, answer.begin() + 16);
  Store16(answer, 2, static_cast<uint16_t>(answer.size()));
  answer[9] = std::byte{1};  // ICMP
  Store16(answer, 10, 0);
  Store16(answer, 10, Checksum(answer, 0, kIpv4HeaderSize));
  answer[kIcmp] = std::byte{3};
  answer[kIcmp + 1] = std::byte{4};
  Store16(answer, kIcmp + 6, mtu);
  Store16(answer, kIcmp + 2, Checksum(answer, kIcmp, answer.size()));
  return answer;
}

TEST(WireImage, IcmpFragmentationNeededIsHonoured) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    const auto fabric = OpenOrDie(Options(true));
    ASSERT_TRUE(Stage(*fabric, kIpv4Route, TestBytes(1'200, 1)));
    ASSERT_EQ(fabric->Flush(), FlushResult::kDone);
    const auto packets = ReadUdp(network);
    ASSERT_EQ(packets.size(), 1u);
    ASSERT_TRUE(network.Write(FragmentationNeeded(packets[0], 1'000)));
    EXPECT_EQ(PathMtu(kIpv4Route), 1'000u);
    ASSERT_TRUE(Stage(*fabric, kIpv4Route, TestBytes(1'200, 2)));
    ASSERT_TRUE(Stage(*fabric, kIpv4Route, TestBytes(972, 3)));
    EXPECT_EQ(fabric->Flush(), FlushResult::kDone);
    // Both were in one message, and the kernel checks the first datagram of it.
    EXPECT_EQ(fabric->transmit_counters().dropped_for(SendDrop::kTooLong), 2u);
    ASSERT_TRUE(Stage(*fabric, kIpv4Route, TestBytes(972, 4)));
    EXPECT_EQ(fabric->Flush(), FlushResult::kDone);
    EXPECT_EQ(ReadUdp(network).size(), 1u);
  });
}

TEST(WireImage, NoRouteIsUnreachable) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork&) {
    const auto fabric = OpenOrDie(Options(true));
    const Route nowhere{.from = OwnNetwork::kIpv4, .to = {IpAddress::FromIpv4(192, 0, 2, 1), 1}};
    ASSERT_TRUE(Stage(*fabric, nowhere, TestBytes(10, 0)));
    EXPECT_EQ(fabric->Flush(), FlushResult::kDone);
    EXPECT_EQ(fabric->transmit_counters().dropped_for(SendDrop::kUnreachable), 1u);
  });
}

// The kernel holds datagrams until it knows the peer's Ethernet address, and counts them against
// the send buffer: a Flush stops in the middle, and the next one continues there.
constexpr size_t kEthernetHeaderSize = 14;

bool IsArp(const Packet& frame) { return Load16(frame, 12) == 0x0806; }

// The reply to an ARP request (RFC 826), with an invented address.
Packet ArpReply(const Packet& request) {
  Packet reply = request;
  const std::byte mac[6] = {std::byte{2}, {}, {}, {}, {}, std::byte{2}};
  std::copy_n(request.begin() + 6, 6, reply.begin());
  std::copy_n(mac, 6, reply.begin() + 6);
  reply[21] = std::byte{2};
  std::copy_n(mac, 6, reply.begin() + 22);
  std::copy_n(request.begin() + 38, 4, reply.begin() + 28);
  std::copy_n(request.begin() + 22, 10, reply.begin() + 32);
  return reply;
}

bool AnswerArp(const OwnNetwork& network) {
  while (auto frame = network.Read()) {
    if (IsArp(*frame)) return network.Write(ArpReply(*frame));
  }
  return false;
}

TEST(WireImage, ABlockedFlushContinuesWhereItStopped) {
  RUN_IN_OWN_NETWORK(kEthernet, [](OwnNetwork& network) {
    UdpFabricOptions options = Options(false);
    options.socket.send_buffer_bytes = 1;  // the kernel's minimum
    const auto fabric = OpenOrDie(options);
    constexpr size_t kCount = 40;
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(Stage(*fabric, kIpv4Route, TestBytes(500, i)));
    }
    EXPECT_EQ(fabric->Flush(), FlushResult::kBlocked);
    const uint64_t sent_first = fabric->transmit_counters().datagrams;
    EXPECT_GT(sent_first, 0u);
    EXPECT_LT(sent_first, kCount);
    EXPECT_EQ(fabric->Flush(), FlushResult::kBlocked) << "nothing has changed";
    EXPECT_EQ(fabric->transmit_counters().datagrams, sent_first);
    // Later datagrams queue up after it.
    ASSERT_TRUE(Stage(*fabric, kIpv4Route, TestBytes(500, kCount)));

    ASSERT_TRUE(AnswerArp(network));
    ASSERT_TRUE(IsReady(fabric->fd(), POLLOUT, std::chrono::seconds(2)));
    EXPECT_EQ(fabric->Flush(), FlushResult::kDone);
    size_t next = 0;
    while (auto frame = network.Read()) {
      frame->erase(frame->begin(), frame->begin() + kEthernetHeaderSize);
      if (!IsIpv4(*frame) || !IsUdp(*frame)) continue;
      EXPECT_EQ(PayloadOf(*frame), TestBytes(500, next++));
    }
    EXPECT_EQ(next, kCount + 1);
    EXPECT_EQ(fabric->transmit_counters().blocked, 2u);
  });
}

}  // namespace
}  // namespace verbena::fabric
