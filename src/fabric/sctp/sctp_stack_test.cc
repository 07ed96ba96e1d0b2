#include "fabric/sctp/sctp_stack.h"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

using Bytes = std::vector<std::byte>;

const IpAddress kHere = IpAddress::FromIpv4(127, 0, 0, 1);

class SctpStackTest : public testing::Test {
 protected:
  SctpStackTest() : port_(std::move(*SctpPort::Open({.ip = kHere}, {}))) {}

  // How often a new link was asked about: whether the packet got so far.
  int AskedFor(Bytes packet) {
    int asked = 0;
    SctpStack& stack = SctpStack::Get();
    const SctpLock lock(stack);
    stack.Input(port_, port_->local().port, {.peer = {kHere, 5}}, packet, [&](SctpLinkId) {
      ++asked;
      return false;
    });
    EXPECT_EQ(stack.links(), 0);
    return asked;
  }
  Bytes PacketTo(uint16_t port) const {
    Bytes packet(40);
    packet[2] = static_cast<std::byte>(port >> 8);
    packet[3] = static_cast<std::byte>(port);
    return packet;
  }

  std::shared_ptr<SctpPort> port_;
};

TEST_F(SctpStackTest, APathHasOneId) {
  SctpStack& stack = SctpStack::Get();
  const SctpLock lock(stack);
  const SctpPath path{.peer = {kHere, 5}};
  EXPECT_EQ(stack.IdOf(*port_, path), stack.IdOf(*port_, path));
  SctpPath other = path;
  other.peer.port = 6;
  EXPECT_NE(stack.IdOf(*port_, path), stack.IdOf(*port_, other));
  other = path;
  other.peer.ip = IpAddress::FromIpv4(127, 0, 0, 2);
  EXPECT_NE(stack.IdOf(*port_, path), stack.IdOf(*port_, other));
  const auto second = std::move(*SctpPort::Open({.ip = kHere}, {}));
  EXPECT_NE(stack.IdOf(*port_, path), stack.IdOf(*second, path));
}

TEST_F(SctpStackTest, ALinkIsThereOnce) {
  SctpStack& stack = SctpStack::Get();
  const SctpLock lock(stack);
  const SctpPath path{.peer = {kHere, 5}};
  const SctpLinkId id = stack.IdOf(*port_, path);
  EXPECT_EQ(stack.PathOf(id), nullptr);
  EXPECT_TRUE(stack.AddLink(id, port_, path));
  EXPECT_FALSE(stack.AddLink(id, port_, path));
  EXPECT_EQ(*stack.PathOf(id), path);
  stack.RemoveLink(id);
  EXPECT_EQ(stack.links(), 0);
}

TEST_F(SctpStackTest, PacketsForOtherPortsAreDropped) {
  const uint16_t own = port_->local().port;
  EXPECT_EQ(AskedFor(PacketTo(own)), 1);
  EXPECT_EQ(AskedFor(PacketTo(static_cast<uint16_t>(own + 1))), 0);
  EXPECT_EQ(AskedFor(Bytes(15)), 0) << "too short for a chunk";
  EXPECT_EQ(AskedFor({}), 0);
}

}  // namespace
}  // namespace verbena::fabric
