#include "adapter/objects/peer_check.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

constexpr IpAddress Ip(uint32_t number) { return IpAddress::FromIpv4(Ipv4Address(number)); }

TEST(PeerCheck, AddressesAndPortMustBeThePeers) {
  const PeerAddress peer{.address = Ip(1), .own_address = Ip(2), .port = 61'234};
  transport::PacketOrigin origin{.source = Ip(1), .destination = Ip(2), .source_port = 61'234};
  EXPECT_EQ(CheckPeer(peer, origin), std::nullopt);
  origin.source_port = 61'235;
  EXPECT_EQ(CheckPeer(peer, origin), Drop::kWrongPort);
  origin.source = Ip(3);
  EXPECT_EQ(CheckPeer(peer, origin), Drop::kWrongPeer);
  origin = {.source = Ip(1), .destination = Ip(3), .source_port = 61'234};
  EXPECT_EQ(CheckPeer(peer, origin), Drop::kWrongPeer);
}

TEST(PeerCheck, WithoutAKnownPortAnyPortIsAccepted) {
  const PeerAddress peer{.address = Ip(1), .own_address = Ip(2)};
  EXPECT_EQ(CheckPeer(peer, {.source = Ip(1), .destination = Ip(2), .source_port = 50'000}),
            std::nullopt);
}

}  // namespace
}  // namespace verbena::adapter
