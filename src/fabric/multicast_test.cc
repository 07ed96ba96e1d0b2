#include "fabric/multicast.h"

#include <unistd.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/own_network.h"
#include "tests/support/udp_peers.h"

namespace verbena::fabric {
namespace {

constexpr IpAddress kIpv4Group = IpAddress::FromIpv4(239, 17, 4, 7);
constexpr IpAddress kIpv6Group{{0xFF, 0x0E, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x17, 0x04, 0x07}};

// Two fabrics on one address.
struct Pair {
  Pair(const IpAddress& address, const IpAddress& group, uint32_t interface)
      : way{.from = address, .to = {group, to->port()}, .interface = interface} {}

  static UdpFabricOptions Options() {
    UdpFabricOptions options;
    options.endpoint = TestEndpoints();
    return options;
  }
  bool Arrives() {
    EXPECT_TRUE(Stage(*from, way, TestBytes(64, 1)).has_value());
    EXPECT_EQ(from->Flush(), FlushResult::kDone);
    for (int i = 0; i < 200; ++i) {
      for (const ReceivedDatagram& datagram : to->Receive()) {
        EXPECT_EQ(datagram.to, way.to.ip);
        return true;
      }
      usleep(500);
    }
    return false;
  }

  std::unique_ptr<UdpFabric> from = OpenOrDie(Options());
  std::unique_ptr<UdpFabric> to = OpenOrDie(Options());
  const Route way;
};

void ExpectOnlyMembersHear(Pair& pair) {
  const IpAddress group = pair.way.to.ip;
  EXPECT_FALSE(pair.Arrives());
  ASSERT_TRUE(JoinGroup(pair.from->socket(), group).has_value());
  EXPECT_FALSE(pair.Arrives()) << "the membership of another";
  ASSERT_TRUE(JoinGroup(pair.to->socket(), group).has_value());
  EXPECT_TRUE(pair.Arrives());
  LeaveGroup(pair.to->socket(), group);
  EXPECT_FALSE(pair.Arrives());
}

TEST(MulticastTest, OnlyMembersReceiveIpv4) {
  Pair pair(IpAddress::FromIpv4(127, 0, 0, 1), kIpv4Group, 0);
  ExpectOnlyMembersHear(pair);
}

TEST(MulticastTest, OnlyMembersReceiveIpv6) {
  RUN_IN_OWN_NETWORK(kIp, [](OwnNetwork& network) {
    Pair pair(OwnNetwork::kIpv6, kIpv6Group, network.index());
    ExpectOnlyMembersHear(pair);
  });
}

TEST(MulticastLimitTest, AUnicastAddressIsRefused) {
  const auto fabric = OpenOrDie({});
  const auto joined = JoinGroup(fabric->socket(), IpAddress::FromIpv4(10, 0, 0, 1));
  ASSERT_FALSE(joined.has_value());
  EXPECT_NE(joined.error().text.find("10.0.0.1"), std::string::npos) << joined.error().text;
}

}  // namespace
}  // namespace verbena::fabric
