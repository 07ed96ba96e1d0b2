#include "adapter/cm/port_blocks.h"

#include <cerrno>
#include <set>

#include <gtest/gtest.h>

#include "adapter/cm/port_locks.h"
#include "tests/support/port_processes.h"

namespace verbena::adapter {
namespace {

using wire::IpCmProtocol;

constexpr IpAddress kIpv4 = IpAddress::FromIpv4(10, 0, 0, 1);
constexpr IpAddress kOtherIpv4 = IpAddress::FromIpv4(10, 0, 0, 2);

// The blocks of one process; two of these act as two processes.
struct Owner {
  explicit Owner(uint64_t seed) : random(seed) {}

  PortRequest BindAny(const IpAddress& address = kAnyIpv4) {
    PortRequest request{.address = address};
    const auto port = blocks.BindAny(request);
    EXPECT_TRUE(port.has_value()) << port.error().text;
    request.port = port.value_or(uint16_t{0});
    return request;
  }

  PortNames names{kTestBasePort};
  Random random;
  MadMailboxes mailboxes{std::move(*MadMailboxes::Open(kTestBasePort))};
  PortBlocks blocks{names, mailboxes, random};
};

TEST(PortBlocks, PortsAreAssignedRoundRobin) {
  Owner owner(1);
  std::set<uint16_t> ports;
  for (uint16_t i = 0; i < kBlockPorts; ++i) {
    const PortRequest bind = owner.BindAny();
    EXPECT_TRUE(ports.insert(bind.port).second) << "a port that was free a moment ago";
    owner.blocks.Release(bind);
  }
  EXPECT_EQ(*ports.rbegin() - *ports.begin(), kBlockPorts - 1) << "one block";
  EXPECT_EQ(FirstOfBlock(*ports.begin()), *ports.begin());
}

TEST(PortBlocks, TwoProcessesHaveDifferentBlocks) {
  Owner a(1), b(1);
  std::set<uint16_t> ports;
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(ports.insert(a.BindAny().port).second);
    EXPECT_TRUE(ports.insert(b.BindAny().port).second);
  }
}

TEST(PortBlocks, BindsToAGivenPortOfAnOwnBlockAreChecked) {
  Owner owner(1);
  const PortRequest first = owner.BindAny(kIpv4);
  EXPECT_TRUE(owner.blocks.Has(first.service()));
  EXPECT_FALSE(owner.blocks.Has({IpCmProtocol::kUdp, first.port}));
  EXPECT_FALSE(owner.blocks.Has({IpCmProtocol::kTcp, 7471}));
  PortRequest second = first;
  const auto refused = owner.blocks.Bind(second);
  EXPECT_EQ(ErrnoOf(refused), EADDRINUSE);
  const std::string words =
      ToString(first) + " is in use by a bind of this process to " + ToString(first);
  EXPECT_EQ(refused.error().text, words);
  second.address = kOtherIpv4;
  EXPECT_EQ(ErrnoOf(owner.blocks.Bind(second)), 0);
  owner.blocks.Release(first);
  EXPECT_EQ(ErrnoOf(owner.blocks.Bind({.port = first.port})), EADDRINUSE) << "of the second";
  owner.blocks.Release(second);
  EXPECT_EQ(ErrnoOf(owner.blocks.Bind({.port = first.port})), 0);
}

TEST(PortBlocks, AListenerSharesItsPortWithNoOtherBind) {
  Owner owner(1);
  const uint16_t port = owner.BindAny().port;
  owner.blocks.Release({.port = port});
  const PortRequest a{.address = kIpv4, .port = port, .reuse_address = true};
  const PortRequest b{.port = port, .reuse_address = true};
  EXPECT_EQ(ErrnoOf(owner.blocks.Bind(a)), 0);
  EXPECT_EQ(ErrnoOf(owner.blocks.Bind(b)), 0);
  EXPECT_EQ(ErrnoOf(owner.blocks.MakeExclusive(a)), EADDRINUSE);
  owner.blocks.Release(b);
  EXPECT_EQ(ErrnoOf(owner.blocks.MakeExclusive(a)), 0);
  EXPECT_EQ(ErrnoOf(owner.blocks.Bind(b)), EADDRINUSE);
}

TEST(PortBlocks, SharersHaveALimit) {
  Owner owner(1);
  const uint16_t port = owner.BindAny().port;
  owner.blocks.Release({.port = port});
  const PortRequest bind{.port = port, .reuse_address = true};
  for (size_t i = 0; i < PortBlocks::kBindsMax; ++i) ASSERT_EQ(ErrnoOf(owner.blocks.Bind(bind)), 0);
  EXPECT_EQ(ErrnoOf(owner.blocks.Bind(bind)), EADDRINUSE);
}

TEST(PortBlocks, OneEmptyBlockIsKept) {
  Owner owner(1);
  std::vector<PortRequest> binds;
  for (int i = 0; i < 3 * kBlockPorts; ++i) binds.push_back(owner.BindAny());
  for (const PortRequest& bind : binds) owner.blocks.Release(bind);
  std::set<uint16_t> blocks;
  for (const PortRequest& bind : binds) {
    if (owner.blocks.Has(bind.service())) blocks.insert(FirstOfBlock(bind.port));
  }
  EXPECT_EQ(blocks.size(), 1U);
}

// Binds of other processes to given ports prevent taking the block.
TEST(PortBlocks, ABlockWithABindOfAnotherProcessIsNotTaken) {
  Owner owner(1);
  std::vector<std::vector<NameLock>> others;
  for (uint16_t i = 0; i + 1 < kBlocks; ++i) {  // all but the last
    const auto port =
        static_cast<uint16_t>(kFirstEphemeralPort + i * kBlockPorts + i % kBlockPorts);
    auto locks = LockPort(owner.names, {.port = port}, owner.random);
    ASSERT_TRUE(locks.has_value()) << locks.error().text;
    others.push_back(std::move(*locks));
  }
  for (int i = 0; i < kBlockPorts; ++i) {
    EXPECT_EQ(FirstOfBlock(owner.BindAny().port), kLastEphemeralPort - kBlockPorts + 1);
  }
  const auto refused = owner.blocks.BindAny({});
  ASSERT_EQ(ErrnoOf(refused), EADDRNOTAVAIL);
  EXPECT_NE(refused.error().text.find("no ephemeral tcp port is left"), std::string::npos);
}

}  // namespace
}  // namespace verbena::adapter
