#include "fabric/udp_fabric.h"

#include <netinet/udp.h>
#include <sys/socket.h>

#include <tuple>

#include <gtest/gtest.h>

#include "fabric/interfaces.h"
#include "tests/support/udp_peers.h"

namespace verbena::fabric {
namespace {

enum class Family : uint8_t { kIpv4Socket, kIpv4, kIpv6 };

// The fabrics of two processes: with IPv4 or IPv6, with or without the kernel's offloads on either
// side.
class UdpFabricTest : public testing::TestWithParam<std::tuple<Family, bool, bool>> {
 protected:
  void SetUp() override {
    const auto [family, a_offloads, b_offloads] = GetParam();
    UdpFabricOptions options = TestOptions();
    options.socket.ipv6 = family != Family::kIpv4Socket;
    options.socket.offloads = a_offloads;
    a_ = OpenOrDie(options);
    options.socket.offloads = b_offloads;
    b_ = OpenOrDie(options);
    if (family == Family::kIpv6) {
      ip_ = IpAddress::Ipv6Loopback();
      if (!PathMtu({.from = ip_, .to = {ip_, 1}})) GTEST_SKIP() << "no IPv6 here";
    }
  }

  [[nodiscard]] Route RouteTo(const UdpFabric& fabric) const {
    return {.from = ip_, .to = {ip_, fabric.port()}};
  }

  std::unique_ptr<UdpFabric> a_;
  std::unique_ptr<UdpFabric> b_;
  IpAddress ip_ = IpAddress::FromIpv4(127, 0, 0, 1);
};

std::string NameOf(const testing::TestParamInfo<UdpFabricTest::ParamType>& info) {
  const auto [family, a_offloads, b_offloads] = info.param;
  const char* const names[] = {"Ipv4Socket", "Ipv4", "Ipv6"};
  return std::string(names[static_cast<size_t>(family)]) + (a_offloads ? "Offloaded" : "Plain") +
         (b_offloads ? "ToOffloaded" : "ToPlain");
}

INSTANTIATE_TEST_SUITE_P(All, UdpFabricTest,
                         testing::Combine(testing::Values(Family::kIpv4Socket, Family::kIpv4,
                                                          Family::kIpv6),
                                          testing::Bool(), testing::Bool()),
                         NameOf);

// The kernel's Soft-RoCE sends these. IPv6 refuses them unless the receiver permits them.
TEST_P(UdpFabricTest, TakesDatagramsWithoutAChecksum) {
  const int on = 1;
  const bool is_ipv4_socket = std::get<0>(GetParam()) == Family::kIpv4Socket;
  ASSERT_EQ(is_ipv4_socket ? setsockopt(a_->fd(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on))
                           : setsockopt(a_->fd(), IPPROTO_UDP, UDP_NO_CHECK6_TX, &on, sizeof(on)),
            0);
  ASSERT_TRUE(Stage(*a_, RouteTo(*b_), TestBytes(100, 1)));
  EXPECT_EQ(a_->Flush(), FlushResult::kDone);
  EXPECT_EQ(ReceiveAll(*b_, 1).size(), 1u);
}

TEST_P(UdpFabricTest, EachHasAnEndpointAndItsPort) {
  EXPECT_EQ(a_->endpoint(), EndpointId(0));
  EXPECT_GE(b_->endpoint().value(), kMulticastEndpoints);
  EXPECT_EQ(b_->port(), TestEndpoints().ports.PortOf(b_->endpoint()));
}

// Sizes of a write of 20 KiB with headers: the first is longer, the last shorter.
TEST_P(UdpFabricTest, BytesArriveInOrder) {
  const std::vector<size_t> sizes{4'128, 4'112, 4'112, 4'112, 4'112, 20, 1, 4'112, 4'112};
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_TRUE(Stage(*a_, RouteTo(*b_), TestBytes(sizes[i], i)));
  }
  ASSERT_EQ(a_->Flush(), FlushResult::kDone);
  EXPECT_EQ(a_->transmit_counters().system_calls, 1u);
  const auto received = ReceiveAll(*b_, sizes.size());
  ASSERT_EQ(received.size(), sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(received[i].bytes, TestBytes(sizes[i], i)) << i;
    EXPECT_EQ(received[i].datagram.from, (UdpAddress{ip_, a_->port()}));
    EXPECT_EQ(received[i].datagram.to, ip_);
  }
  EXPECT_EQ(b_->receive_counters().datagrams, sizes.size());
}

// On loopback the position of a datagram in the coalesced message is its identification.
TEST_P(UdpFabricTest, SegmentIsTheIdentificationOnLoopback) {
  std::vector<uint16_t> ids;
  for (size_t i = 0; i < 10; ++i) {
    ids.push_back(Stage(*a_, RouteTo(*b_), TestBytes(1'000, i)).value());
  }
  ASSERT_EQ(a_->Flush(), FlushResult::kDone);
  const auto received = ReceiveAll(*b_, 10);
  ASSERT_EQ(received.size(), 10u);
  const bool whole = a_->socket().segmentation() && b_->socket().coalescing();
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(received[i].datagram.segment, whole ? ids[i] : 0) << i;
  }
  EXPECT_EQ(b_->receive_counters().messages, whole ? 1u : 10u);
}

TEST_P(UdpFabricTest, ResponsesReturn) {
  ASSERT_TRUE(Stage(*a_, RouteTo(*b_), TestBytes(64, 1)));
  ASSERT_EQ(a_->Flush(), FlushResult::kDone);
  const auto request = ReceiveAll(*b_, 1);
  ASSERT_EQ(request.size(), 1u);
  const ReceivedDatagram& datagram = request[0].datagram;
  ASSERT_TRUE(Stage(*b_, {.from = datagram.to, .to = datagram.from}, TestBytes(32, 2)));
  ASSERT_EQ(b_->Flush(), FlushResult::kDone);
  const auto answer = ReceiveAll(*a_, 1);
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].bytes, TestBytes(32, 2));
}

TEST_P(UdpFabricTest, AFloodLosesOnlyWhatDoesNotFit) {
  constexpr size_t kCount = 6'000;  // 24 MiB; the buffer has at most 8
  for (size_t sent = 0; sent < kCount;) {
    if (Stage(*a_, RouteTo(*b_), TestBytes(4'112, sent % 64))) {
      ++sent;
    } else {
      ASSERT_EQ(a_->Flush(), FlushResult::kDone);
    }
  }
  ASSERT_EQ(a_->Flush(), FlushResult::kDone);
  EXPECT_EQ(a_->transmit_counters().datagrams, kCount);
  size_t received = 0;
  for (auto datagrams = b_->Receive(); !datagrams.empty(); datagrams = b_->Receive()) {
    for (const ReceivedDatagram& datagram : datagrams) ASSERT_EQ(datagram.bytes.size(), 4'112u);
    received += datagrams.size();
  }
  EXPECT_GT(received, 0u);
  EXPECT_LT(received, kCount);
  ASSERT_TRUE(Stage(*a_, RouteTo(*b_), TestBytes(10, 0)));
  ASSERT_EQ(a_->Flush(), FlushResult::kDone);
  EXPECT_EQ(ReceiveAll(*b_, 1).size(), 1u);
  EXPECT_GT(b_->receive_counters().kernel_drops, 0u);
}

TEST(UdpFabric, OneBurstCarriesBothFamilies) {
  const auto fabric = OpenOrDie(TestOptions());
  const IpAddress ipv4 = IpAddress::FromIpv4(127, 0, 0, 1);
  const IpAddress ipv6 = IpAddress::Ipv6Loopback();
  if (!PathMtu({.from = ipv6, .to = {ipv6, 1}})) GTEST_SKIP() << "no IPv6 here";
  for (const IpAddress& ip : {ipv4, ipv6, ipv4}) {
    ASSERT_TRUE(Stage(*fabric, {.from = ip, .to = {ip, fabric->port()}}, TestBytes(10, 0)));
  }
  ASSERT_EQ(fabric->Flush(), FlushResult::kDone);
  const auto received = fabric->Receive();
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[0].to, ipv4);
  EXPECT_EQ(received[1].to, ipv6);
  EXPECT_EQ(received[2].to, ipv4);
  EXPECT_EQ(fabric->transmit_counters().system_calls, 1u);
  EXPECT_EQ(fabric->receive_counters().system_calls, 1u);
}

TEST(UdpFabric, TheErrorOfStrictModeNamesThePort) {
  UdpFabricOptions options = TestOptions();
  const auto first = OpenOrDie(options);
  options.endpoint.strict = true;
  const auto refused = UdpFabric::Open(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("strict"), std::string::npos);
}

TEST(UdpFabric, WarningsAreReturnedOnce) {
  UdpFabricOptions options = TestOptions();
  options.socket.receive_buffer_bytes = 1 << 30;
  const auto fabric = OpenOrDie(options);
  EXPECT_FALSE(fabric->TakeWarnings().empty());
  EXPECT_TRUE(fabric->TakeWarnings().empty());
}

}  // namespace
}  // namespace verbena::fabric
