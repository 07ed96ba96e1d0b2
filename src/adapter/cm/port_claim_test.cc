#include "adapter/cm/port_claim.h"

#include <cerrno>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/port_processes.h"

namespace verbena::adapter {
namespace {

constexpr PortRequest kRequest{.port = 7471};

TEST(PortClaim, FreesItsPortOnce) {
  const auto space = OpenTestSpace();
  auto claim = space->Claim(kRequest);
  ASSERT_TRUE(claim.has_value()) << claim.error().text;
  EXPECT_EQ(claim->port(), 7471);
  {
    const PortClaim moved = std::move(*claim);
    EXPECT_TRUE(claim->is_empty());
    EXPECT_FALSE(moved.is_empty());
    EXPECT_EQ(ErrnoOf(space->Claim(kRequest)), EADDRINUSE);
  }
  auto again = space->Claim(kRequest);
  ASSERT_TRUE(again.has_value());
  PortClaim assigned;
  assigned = std::move(*again);
  EXPECT_EQ(ErrnoOf(space->Claim(kRequest)), EADDRINUSE);
  assigned = PortClaim();
  EXPECT_EQ(ErrnoOf(space->Claim(kRequest)), 0);
}

// For given ports, and for ports of the process's own blocks.
TEST(PortClaim, AListenerSharesItsPortWithNoOtherBind) {
  const auto space = OpenTestSpace();
  const auto ephemeral = space->Claim({});
  ASSERT_TRUE(ephemeral.has_value());
  const auto in_block = static_cast<uint16_t>(FirstOfBlock(ephemeral->port()) +
                                              (ephemeral->port() + 1) % kBlockPorts);
  for (const uint16_t port : {uint16_t{7471}, in_block}) {
    const PortRequest shared{.port = port, .reuse_address = true};
    auto first = space->Claim(shared), second = space->Claim(shared);
    ASSERT_TRUE(first.has_value() && second.has_value());
    EXPECT_EQ(ErrnoOf(first->MakeExclusive()), EADDRINUSE);
    EXPECT_TRUE(first->request().reuse_address);
    *second = PortClaim();
    EXPECT_EQ(ErrnoOf(first->MakeExclusive()), 0);
    EXPECT_FALSE(first->request().reuse_address);
    EXPECT_EQ(ErrnoOf(first->MakeExclusive()), 0) << "it is";
    EXPECT_EQ(ErrnoOf(space->Claim(shared)), EADDRINUSE);
  }
}

}  // namespace
}  // namespace verbena::adapter
