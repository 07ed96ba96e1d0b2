#include "fabric/slots.h"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/own_network.h"
#include "tests/support/udp_peers.h"

namespace verbena::fabric {
namespace {

TEST(Slots, EachHasItsPort) {
  EXPECT_EQ(PortOf(Slot(0)), 4791);
  EXPECT_EQ(PortOf(Slot(255)), 5046);
  EXPECT_EQ(PortOf(Slot(3), 10'000), 10'003);
}

TEST(Slots, FirstFreeOneIsTaken) {
  const SlotOptions options{.base_port = TestBasePort()};
  auto first = UdpSocket::Open({}).value();
  EXPECT_EQ(ClaimSlot(first, options), Slot(0));
  {
    auto second = UdpSocket::Open({}).value();
    EXPECT_EQ(ClaimSlot(second, options), Slot(1));
    auto third = UdpSocket::Open({}).value();
    EXPECT_EQ(ClaimSlot(third, options), Slot(2));
  }
  auto fourth = UdpSocket::Open({}).value();
  EXPECT_EQ(ClaimSlot(fourth, options), Slot(1)) << "free again when its owner is gone";
}

// A slot is free for both families or not at all.
TEST(Slots, OneFamilyOccupiesIt) {
  const SlotOptions options{.base_port = TestBasePort()};
  auto ipv4 = UdpSocket::Open({.ipv6 = false}).value();
  EXPECT_EQ(ClaimSlot(ipv4, options), Slot(0));
  auto dual = UdpSocket::Open({}).value();
  EXPECT_EQ(ClaimSlot(dual, options), Slot(1));
  auto another = UdpSocket::Open({.ipv6 = false}).value();
  EXPECT_EQ(ClaimSlot(another, options), Slot(2));
}

// So does a socket of somebody else on one address.
TEST(Slots, OneAddressOccupiesIt) {
  const SlotOptions options{.base_port = TestBasePort()};
  const FileDescriptor stranger(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress address(SocketFamily::kIpv4,
                              {IpAddress::FromIpv4(127, 0, 0, 1), options.base_port});
  ASSERT_EQ(bind(stranger.get(), address.get(), address.size()), 0);
  auto ours = UdpSocket::Open({}).value();
  EXPECT_EQ(ClaimSlot(ours, options), Slot(1));
}

TEST(Slots, StrictIsTheFirstOrNone) {
  const SlotOptions options{.base_port = TestBasePort(), .strict = true};
  auto first = UdpSocket::Open({}).value();
  EXPECT_EQ(ClaimSlot(first, options), Slot(0));
  auto second = UdpSocket::Open({}).value();
  const auto refused = ClaimSlot(second, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EADDRINUSE);
  const std::string port = "UDP port " + std::to_string(options.base_port) + " is taken";
  EXPECT_NE(refused.error().words.find(port), std::string::npos) << refused.error().words;
  EXPECT_NE(refused.error().words.find("strict mode"), std::string::npos);
}

void ExpectAllSlots(OwnNetwork&) {
  std::vector<UdpSocket> sockets;
  for (unsigned number = 0; number < kSlotCount; ++number) {
    sockets.push_back(UdpSocket::Open({}).value());
    ASSERT_EQ(ClaimSlot(sockets.back(), {}), Slot(static_cast<uint8_t>(number)));
  }
  auto one_more = UdpSocket::Open({}).value();
  const auto refused = ClaimSlot(one_more, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EADDRINUSE);
  EXPECT_NE(refused.error().words.find("4791 to 5046"), std::string::npos) << refused.error().words;
}

TEST(Slots, EndAt256) { RUN_IN_OWN_NETWORK(kIp, ExpectAllSlots); }

}  // namespace
}  // namespace verbena::fabric
