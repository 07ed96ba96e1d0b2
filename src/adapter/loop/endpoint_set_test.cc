#include "adapter/loop/endpoint_set.h"

#include <poll.h>

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

using fabric::EndpointUse;

std::unique_ptr<fabric::UdpFabric> OpenFabric(EndpointUse use = EndpointUse::kMore) {
  static uint64_t seed = 0;
  fabric::UdpFabricOptions options;
  options.endpoint = TestEndpoint();
  options.endpoint.use = use;
  options.endpoint.seed = ++seed;
  return std::move(*fabric::UdpFabric::Open(options));
}

// Sends a datagram as a peer would.
void SendTo(uint16_t port) {
  const auto sender = OpenFabric();
  const auto local = IpAddress::FromIpv4(127, 0, 0, 1);
  ASSERT_TRUE(sender->Reserve({.from = local, .to = {local, port}}, 8).has_value());
  sender->Flush();
}

bool IsReadable(int fd) {
  pollfd file{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&file, 1, 0) == 1;
}

// The port of the receiving socket, once for each datagram.
std::vector<uint16_t> ReceivedAt(const EndpointSet& endpoints) {
  std::vector<uint16_t> ports;
  endpoints.Receive(
      [&](const fabric::Fabric& by, std::span<const fabric::ReceivedDatagram> datagrams) {
        ports.insert(ports.end(), datagrams.size(), by.port());
      });
  return ports;
}

TEST(EndpointSet, ASingleSocketIsItsOwnFile) {
  EndpointSet endpoints(OpenFabric());
  EXPECT_EQ(endpoints.fd(), endpoints.first().fd());
  EXPECT_TRUE(endpoints.Has(endpoints.first().endpoint()));
  EXPECT_TRUE(ReceivedAt(endpoints).empty());
  SendTo(endpoints.first().port());
  EXPECT_EQ(ReceivedAt(endpoints), std::vector<uint16_t>{endpoints.first().port()});
}

TEST(EndpointSet, EachOfSeveralSocketsIsReadAndWaitedFor) {
  EndpointSet endpoints(OpenFabric());
  std::vector<uint16_t> ports{endpoints.first().port()};
  for (int i = 0; i < 3; ++i) {
    auto another = OpenFabric();
    const QpNumber qp = MakeQpNumber(another->endpoint(), 5);
    const fabric::UdpFabric* const fabric = another.get();
    ports.push_back(another->port());
    ASSERT_TRUE(endpoints.Add(std::move(another)).has_value());
    EXPECT_EQ(&endpoints.Of(qp), fabric);
  }
  EXPECT_EQ(endpoints.size(), 4U);
  EXPECT_FALSE(IsReadable(endpoints.fd()));
  EXPECT_TRUE(ReceivedAt(endpoints).empty());
  for (const uint16_t port : ports) {
    SendTo(port);
    EXPECT_TRUE(IsReadable(endpoints.fd()));
    EXPECT_EQ(ReceivedAt(endpoints), std::vector<uint16_t>{port});
    EXPECT_FALSE(IsReadable(endpoints.fd()));
  }
  EXPECT_EQ(endpoints.receive_counters().datagrams, 4U) << "the sum";
}

TEST(EndpointSet, FlushSendsTheDatagramsOfAllSockets) {
  EndpointSet endpoints(OpenFabric());
  ASSERT_TRUE(endpoints.Add(OpenFabric()).has_value());
  const auto peer = OpenFabric();
  const auto local = IpAddress::FromIpv4(127, 0, 0, 1);
  const fabric::Route route{.from = local, .to = {local, peer->port()}};
  ASSERT_TRUE(endpoints.first().Reserve(route, 8).has_value());
  EXPECT_TRUE(endpoints.Flush());
  EXPECT_EQ(endpoints.transmit_counters().datagrams, 1U);
}

TEST(EndpointSet, FindsTheEndpointForMulticast) {
  EndpointSet endpoints(OpenFabric());
  EXPECT_EQ(endpoints.FindBelow(fabric::kMulticastEndpoints), nullptr);
  ASSERT_TRUE(endpoints.Add(OpenFabric(EndpointUse::kMulticast)).has_value());
  ASSERT_NE(endpoints.FindBelow(fabric::kMulticastEndpoints), nullptr);
  EXPECT_EQ(endpoints.FindBelow(fabric::kMulticastEndpoints)->endpoint(), fabric::EndpointId(0));
}

// In strict mode one socket serves all numbers.
TEST(EndpointSet, AnAliasIsServedByTheFirstSocket) {
  EndpointSet endpoints(OpenFabric());
  const fabric::EndpointId another(77);
  ASSERT_FALSE(endpoints.Has(another));
  endpoints.AddAlias(another);
  EXPECT_TRUE(endpoints.Has(another));
  EXPECT_EQ(&endpoints.Of(MakeQpNumber(another, 5)), &endpoints.first());
  EXPECT_EQ(endpoints.size(), 1U);
}

}  // namespace
}  // namespace verbena::adapter
