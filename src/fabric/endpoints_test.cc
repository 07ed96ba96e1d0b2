#include "fabric/endpoints.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/own_network.h"
#include "tests/support/udp_peers.h"

namespace verbena::fabric {
namespace {

EndpointOptions With(EndpointUse use, uint64_t seed = 1) {
  EndpointOptions options = TestEndpoints();
  options.use = use;
  options.seed = seed;
  return options;
}

UdpSocket OpenSocket() { return UdpSocket::Open({}).value(); }

TEST(Endpoints, EachHasItsPort) {
  const EndpointPorts ports;
  EXPECT_EQ(ports.PortOf(EndpointId(0)), 4791);
  EXPECT_EQ(ports.PortOf(EndpointId(1)), 61'001);
  EXPECT_EQ(ports.PortOf(EndpointId(4'095)), 65'095);
}

TEST(Endpoints, TheFirstProcessGetsEndpoint0AndFreesIt) {
  EndpointOptions options = With(EndpointUse::kFirst);
  {
    auto first = OpenSocket();
    EXPECT_EQ(ClaimEndpoint(first, options), EndpointId(0));
    auto second = OpenSocket();
    EXPECT_GE(ClaimEndpoint(second, options)->value(), options.multicast);
  }
  auto third = OpenSocket();
  EXPECT_EQ(ClaimEndpoint(third, options), EndpointId(0)) << "free again when its owner is gone";
}

// Packets to a process that has died should not reach the next one.
TEST(Endpoints, OtherProcessesGetRandomEndpoints) {
  std::set<uint16_t> claimed;
  constexpr uint64_t kTries = 16;
  for (uint64_t seed = 1; seed <= kTries; ++seed) {
    auto socket = OpenSocket();
    claimed.insert(ClaimEndpoint(socket, With(EndpointUse::kMore, seed))->value());
  }
  EXPECT_GT(claimed.size(), kTries / 2);
}

TEST(Endpoints, MulticastEndpointsAreTakenInOrder) {
  EndpointOptions options = With(EndpointUse::kMulticast);
  options.multicast = 2;
  auto first = OpenSocket(), second = OpenSocket(), third = OpenSocket();
  EXPECT_EQ(ClaimEndpoint(first, options), EndpointId(0));
  EXPECT_EQ(ClaimEndpoint(second, options), EndpointId(1));
  const auto refused = ClaimEndpoint(third, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_error, kNoEndpointLeft);
  const std::string ports = "ports " + std::to_string(options.ports.first) + ", " +
                            std::to_string(options.ports.first + 1) + ")";
  EXPECT_NE(refused.error().text.find(ports), std::string::npos) << refused.error().text;
}

// An endpoint is free only if both families are free.
TEST(Endpoints, ASocketOfOneFamilyOccupiesAnEndpoint) {
  EndpointOptions options = With(EndpointUse::kMulticast);
  auto ipv4 = UdpSocket::Open({.ipv6 = false}).value();
  EXPECT_EQ(ClaimEndpoint(ipv4, options), EndpointId(0));
  auto dual = OpenSocket();
  EXPECT_EQ(ClaimEndpoint(dual, options), EndpointId(1));
  auto another = UdpSocket::Open({.ipv6 = false}).value();
  EXPECT_EQ(ClaimEndpoint(another, options), EndpointId(2));
}

// A socket of another program on one address takes it, too.
TEST(Endpoints, ASocketOnOneAddressOccupiesAnEndpoint) {
  EndpointOptions options = With(EndpointUse::kMulticast);
  const FileDescriptor stranger(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress address(SocketFamily::kIpv4,
                              {IpAddress::FromIpv4(127, 0, 0, 1), options.ports.first});
  ASSERT_EQ(bind(stranger.get(), address.get(), address.size()), 0);
  auto ours = OpenSocket();
  EXPECT_EQ(ClaimEndpoint(ours, options), EndpointId(1));
}

TEST(Endpoints, StrictModeUsesOnlyEndpoint0) {
  EndpointOptions options = With(EndpointUse::kFirst);
  options.strict = true;
  auto first = OpenSocket();
  EXPECT_EQ(ClaimEndpoint(first, options), EndpointId(0));
  auto second = OpenSocket();
  const auto refused = ClaimEndpoint(second, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_error, EADDRINUSE);
  const std::string port = "UDP port " + std::to_string(options.ports.first) + " is taken";
  EXPECT_NE(refused.error().text.find(port), std::string::npos) << refused.error().text;
  EXPECT_NE(refused.error().text.find("strict mode"), std::string::npos);
}

// As many as queue pair numbers can express. Those for multicast stay reserved for members.
void ExpectAllEndpoints(OwnNetwork&) {
  constexpr size_t kOthers = kEndpointsMax - kMulticastEndpoints;
  std::vector<UdpSocket> sockets;
  std::set<uint16_t> claimed;
  for (uint64_t seed = 0; seed < kOthers + 1; ++seed) {
    sockets.push_back(OpenSocket());
    const auto endpoint = ClaimEndpoint(sockets.back(), {.seed = seed});
    ASSERT_TRUE(endpoint.has_value()) << seed << ": " << endpoint.error().text;
    claimed.insert(endpoint->value());
  }
  EXPECT_EQ(claimed.size(), kOthers + 1);
  EXPECT_EQ(*claimed.begin(), 0);
  EXPECT_EQ(*++claimed.begin(), kMulticastEndpoints);
  auto one_more = OpenSocket();
  const auto refused = ClaimEndpoint(one_more, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_error, kNoEndpointLeft);
  const std::string& words = refused.error().text;
  EXPECT_NE(words.find("all 4089 endpoints"), std::string::npos) << words;
  EXPECT_NE(words.find("4791 and 61008 to 65095"), std::string::npos) << words;
}

TEST(Endpoints, EndAt4096) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, kEndpointsMax + 100);
  if (files.rlim_cur < kEndpointsMax + 100) GTEST_SKIP() << "too few files may be open";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  RUN_IN_OWN_NETWORK(kIp, ExpectAllEndpoints);
}

}  // namespace
}  // namespace verbena::fabric
