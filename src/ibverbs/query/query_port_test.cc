#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <gtest/gtest.h>

#include "ibverbs/objects/control_ops.h"
#include "ibverbs/query/device.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

TEST(QueryPortTest, IsActiveEthernet) {
  testing::VerbsEnd end;
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(end.context, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(port.phys_state, 5);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(port.max_mtu, IBV_MTU_4096);
  EXPECT_GE(port.active_mtu, IBV_MTU_256);
  EXPECT_LE(port.active_mtu, port.max_mtu);
  EXPECT_EQ(port.lid, 0);
  EXPECT_EQ(port.pkey_tbl_len, 1);
  EXPECT_GT(port.gid_tbl_len, 0);
  EXPECT_EQ(port.flags, IBV_QPF_GRH_REQUIRED);
}

TEST(QueryPortTest, CanReportInfiniband) {
  setenv("VERBENA_LINK_LAYER", "ib", 1);
  ibv_context* const context = ibv_open_device(&TheDevice());
  unsetenv("VERBENA_LINK_LAYER");
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_INFINIBAND);
  EXPECT_NE(port.lid, 0);
  EXPECT_EQ(port.sm_lid, 1);
  EXPECT_EQ(port.flags, 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(QueryPortTest, OtherPortsAreRefused) {
  testing::VerbsEnd end;
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(end.context, 0, &port), EINVAL);
  EXPECT_EQ(ibv_query_port(end.context, 2, &port), EINVAL);
}

// The exported function serves programs that were compiled before the size was an argument.
TEST(QueryPortTest, TheOldFunctionWritesTheOldStructureOnly) {
  testing::VerbsEnd end;
  std::array<unsigned char, sizeof(ibv_port_attr)> bytes{};
  bytes.fill(0xEE);
  auto* const old = reinterpret_cast<_compat_ibv_port_attr*>(bytes.data());
  ASSERT_EQ((ibv_query_port)(end.context, 1, old), 0);
  EXPECT_NE(bytes[offsetof(ibv_port_attr, flags)], 0xEE);
  EXPECT_EQ(bytes[48], 0xEE);
}

TEST(QueryPortTest, HasTheDefaultPartition) {
  testing::VerbsEnd end;
  __be16 pkey = 0;
  ASSERT_EQ(ibv_query_pkey(end.context, 1, 0, &pkey), 0);
  EXPECT_EQ(pkey, 0xFFFF);
  EXPECT_EQ(ibv_get_pkey_index(end.context, 1, pkey), 0);
  EXPECT_EQ(ibv_query_pkey(end.context, 1, 1, &pkey), -1);
  EXPECT_EQ(ibv_query_pkey(end.context, 2, 0, &pkey), -1);
  EXPECT_EQ(ibv_get_pkey_index(end.context, 1, 0x1234), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::ibverbs
