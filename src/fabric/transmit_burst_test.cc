#include "fabric/transmit_burst.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/own_network.h"
#include "tests/support/udp_peers.h"

namespace verbena::fabric {
namespace {

using Ids = std::vector<uint16_t>;

constexpr IpAddress kLoopback = IpAddress::FromIpv4(127, 0, 0, 1);

// A fabric that sends datagrams to itself.
class TransmitBurstTest : public testing::Test {
 protected:
  void Open(const UdpFabricOptions& options) {
    fabric_ = OpenOrDie(options);
    route_ = {.from = kLoopback, .to = {kLoopback, fabric_->port()}};
  }
  void OpenOffloaded() {
    Open(TestOptions());
    if (!fabric_->socket().segmentation()) GTEST_SKIP() << "this kernel has no UDP_SEGMENT";
  }
  void OpenPlain() {
    UdpFabricOptions options = TestOptions();
    options.socket.offloads = false;
    Open(options);
  }

  Ids StageAll(const std::vector<size_t>& sizes) {
    Ids ids;
    for (const size_t size : sizes) {
      ids.push_back(Stage(*fabric_, route_, TestBytes(size, staged_++)).value());
    }
    return ids;
  }

  // Expects the staged datagrams, with these sizes.
  void ExpectArrival(const std::vector<size_t>& sizes) {
    const auto received = ReceiveAll(*fabric_, sizes.size());
    ASSERT_EQ(received.size(), sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(received[i].bytes, TestBytes(sizes[i], i)) << i;
    }
  }

  [[nodiscard]] TransmitCounters counters() const { return fabric_->transmit_counters(); }

  std::unique_ptr<UdpFabric> fabric_;
  Route route_;
  size_t staged_ = 0;
};

TEST_F(TransmitBurstTest, EqualSizesAreOneMessageAndTheLastMayBeShorter) {
  OpenOffloaded();
  const std::vector<size_t> sizes{1000, 1000, 1000, 10};
  EXPECT_EQ(StageAll(sizes), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().messages, 1u);
  EXPECT_EQ(counters().datagrams, 4u);
  EXPECT_EQ(counters().bytes, 3'010u);
  EXPECT_EQ(counters().system_calls, 1u);
  ExpectArrival(sizes);
}

TEST_F(TransmitBurstTest, NothingJoinsAfterAShorterDatagram) {
  OpenOffloaded();
  const std::vector<size_t> sizes{1000, 10, 10, 10, 1000};
  EXPECT_EQ(StageAll(sizes), (Ids{0, 1, 0, 1, 0}));
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().messages, 3u);
  EXPECT_EQ(counters().system_calls, 1u);
  ExpectArrival(sizes);
}

TEST_F(TransmitBurstTest, OnlyTheSameRouteJoins) {
  OpenOffloaded();
  Ids ids = StageAll({100, 100});
  route_.traffic_class = 1;
  for (const uint16_t id : StageAll({100, 100})) ids.push_back(id);
  route_.from = IpAddress::FromIpv4(127, 0, 0, 9);
  for (const uint16_t id : StageAll({100})) ids.push_back(id);
  EXPECT_EQ(ids, (Ids{0, 1, 0, 1, 0}));
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().messages, 3u);
  const auto received = ReceiveAll(*fabric_, 5);
  ASSERT_EQ(received.size(), 5u);
  EXPECT_EQ(received[1].datagram.from, (UdpAddress{kLoopback, fabric_->port()}));
  EXPECT_EQ(received[1].datagram.traffic_class, 0);
  EXPECT_EQ(received[3].datagram.traffic_class, 1);
  EXPECT_EQ(received[4].datagram.from.ip, IpAddress::FromIpv4(127, 0, 0, 9));
}

TEST_F(TransmitBurstTest, SingleDatagramsStayAlone) {
  OpenOffloaded();
  Ids ids = StageAll({100, 100});
  route_.single = true;
  for (const uint16_t id : StageAll({100, 100, 100})) ids.push_back(id);
  route_.single = false;
  for (const uint16_t id : StageAll({100, 100})) ids.push_back(id);
  EXPECT_EQ(ids, (Ids{0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().messages, 5u);
  EXPECT_EQ(counters().system_calls, 1u);
  ExpectArrival({100, 100, 100, 100, 100, 100, 100});
}

TEST_F(TransmitBurstTest, MessagesAreBoundedInSegmentsAndBytes) {
  OpenOffloaded();
  const std::vector<size_t> small(kSegmentsMax + 2, 20);
  EXPECT_EQ(StageAll(small).back(), 1);
  const std::vector<size_t> large(16, 4'112);
  EXPECT_EQ(StageAll(large), (Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0}));
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().messages, 4u);
  std::vector<size_t> all = small;
  all.insert(all.end(), large.begin(), large.end());
  ExpectArrival(all);
}

TEST_F(TransmitBurstTest, PlainDatagramsHaveIdentificationZero) {
  OpenPlain();
  const std::vector<size_t> sizes{1000, 1000, 1000, 10};
  EXPECT_EQ(StageAll(sizes), (Ids{0, 0, 0, 0}));
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().messages, 4u);
  EXPECT_EQ(counters().system_calls, 1u);
  ExpectArrival(sizes);
}

TEST_F(TransmitBurstTest, RoomEndsWithMessages) {
  UdpFabricOptions options = TestOptions();
  options.socket.offloads = false;
  options.transmit.messages = 3;
  Open(options);
  EXPECT_EQ(fabric_->room(100), 3u);
  StageAll({100, 100, 100});
  EXPECT_EQ(fabric_->room(100), 0u);
  EXPECT_FALSE(fabric_->Reserve(route_, 100));
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(fabric_->room(100), 3u);
}

TEST_F(TransmitBurstTest, RoomEndsWithBytes) {
  UdpFabricOptions options = TestOptions();
  options.transmit.bytes = kMessageBytesMax;
  Open(options);
  EXPECT_EQ(fabric_->room(60'000), 1u);
  StageAll({60'000});
  EXPECT_FALSE(fabric_->Reserve(route_, 6'000));
  StageAll({kMessageBytesMax - 60'000});
  EXPECT_FALSE(fabric_->Reserve(route_, 1));
}

TEST_F(TransmitBurstTest, ACancelledDatagramIsNotSent) {
  OpenOffloaded();
  EXPECT_EQ(StageAll({500, 500}), (Ids{0, 1}));
  (void)fabric_->Reserve(route_, 10);
  fabric_->CancelLast();  // the message is open again
  EXPECT_EQ(StageAll({500}), (Ids{2}));
  (void)fabric_->Reserve(route_, 600);
  fabric_->CancelLast();  // its own message
  EXPECT_EQ(StageAll({400}), (Ids{3}));
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().messages, 1u);
  ExpectArrival({500, 500, 500, 400});
}

TEST_F(TransmitBurstTest, AnEmptyFlushMakesNoSystemCall) {
  OpenPlain();
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  (void)fabric_->Reserve(route_, 10);
  fabric_->CancelLast();
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().system_calls, 0u);
}

// A datagram that cannot be sent does not delay later ones. A broadcast without SO_BROADCAST is
// EACCES, port 0 is EINVAL.
TEST_F(TransmitBurstTest, DropsDatagramsThatTheKernelRefuses) {
  OpenPlain();
  const Route good = route_;

  route_.to.ip = IpAddress::FromIpv4(255, 255, 255, 255);
  (void)Stage(*fabric_, route_, TestBytes(100, 99));
  route_ = good;
  route_.to.port = 0;
  (void)Stage(*fabric_, route_, TestBytes(100, 99));
  route_ = good;
  StageAll({100});
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().dropped_for(SendDrop::kForbidden), 1u);
  EXPECT_EQ(counters().dropped_for(SendDrop::kOther), 1u);
  ExpectArrival({100});
}

TEST_F(TransmitBurstTest, DropsDatagramsWithoutALocalSource) {
  OpenPlain();
  const Route good = route_;
  StageAll({100});
  route_.from = IpAddress::FromIpv4(192, 0, 2, 77);  // RFC 5737; sent to loopback
  (void)Stage(*fabric_, route_, TestBytes(100, 99));
  route_ = good;
  StageAll({100});
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().datagrams, 2u);
  uint64_t dropped = 0;
  for (const uint64_t count : counters().dropped) dropped += count;
  EXPECT_EQ(dropped, 1u);
  ExpectArrival({100, 100});
}

TEST_F(TransmitBurstTest, DropsDatagramsOfAnUnsupportedFamily) {
  UdpFabricOptions options = TestOptions();
  options.socket.ipv6 = false;
  Open(options);
  const Route ipv6{.from = IpAddress::Ipv6Loopback(), .to = {IpAddress::Ipv6Loopback(), 1}};
  ASSERT_TRUE(fabric_->Reserve(ipv6, 10));
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().dropped_for(SendDrop::kUnreachable), 1u);
}

// The next call reports an earlier ICMP error, which does not concern its own datagrams.
TEST_F(TransmitBurstTest, EarlierIcmpErrorsDropNothing) {
  OpenPlain();
  const int on = 1;
  ASSERT_EQ(setsockopt(fabric_->fd(), IPPROTO_IP, IP_RECVERR, &on, sizeof(on)), 0);
  if (fabric_->socket().family() == SocketFamily::kDualStack) {
    ASSERT_EQ(setsockopt(fabric_->fd(), IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on)), 0);
  }
  const Route to_closed_port{.from = kLoopback,
                             .to = {kLoopback, static_cast<uint16_t>(fabric_->port() + 7)}};
  ASSERT_TRUE(Stage(*fabric_, to_closed_port, TestBytes(10, 99)));
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  StageAll({100});
  EXPECT_EQ(fabric_->Flush(), FlushResult::kDone);
  EXPECT_EQ(counters().datagrams, 2u);
  EXPECT_EQ(counters().system_calls, 3u) << "the error was not reported";
  ExpectArrival({100});
}

}  // namespace
}  // namespace verbena::fabric
