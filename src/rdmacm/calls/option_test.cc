#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

using testing::AsSockaddr;
using testing::CmEnd;
using testing::LoopbackAddress;

template <class T>
int Set(rdma_cm_id* id, int name, T value) {
  return rdma_set_option(id, RDMA_OPTION_ID, name, &value, sizeof value);
}

TEST(OptionTest, TheTypeOfServiceIsInThePath) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  ASSERT_EQ(Set(id, RDMA_OPTION_ID_TOS, uint8_t{0x60}), 0);
  sockaddr_storage address = LoopbackAddress(AF_INET, 7174);
  ASSERT_EQ(rdma_resolve_addr(id, nullptr, AsSockaddr(address), 1), 0);
  end.Next(RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_EQ(rdma_resolve_route(id, 1), 0);
  end.Next(RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_EQ(id->route.path_rec->traffic_class, 0x60);
}

TEST(OptionTest, ThePeerGetsTheTimeout) {
  CmEnd server, client;
  rdma_cm_id* const active = client.Resolve(server.Listen());
  testing::MakeQp(active);
  ASSERT_EQ(Set(active, RDMA_OPTION_ID_ACK_TIMEOUT, uint8_t{12}), 0);
  ASSERT_EQ(rdma_connect(active, nullptr), 0);
  rdma_cm_id* const passive = server.Own(server.Next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  ibv_qp_attr attributes{};
  int mask = 0;
  attributes.qp_state = IBV_QPS_RTS;
  ASSERT_EQ(rdma_init_qp_attr(passive, &attributes, &mask), 0);
  EXPECT_EQ(attributes.timeout, 12);
}

TEST(OptionTest, TwoIdsCanShareAPortWithReuseAddress) {
  CmEnd end;
  rdma_cm_id* const first = end.MakeId();
  rdma_cm_id* const second = end.MakeId();
  ASSERT_EQ(Set(first, RDMA_OPTION_ID_REUSEADDR, int{1}), 0);
  ASSERT_EQ(Set(second, RDMA_OPTION_ID_REUSEADDR, int{1}), 0);
  sockaddr_storage address = LoopbackAddress();
  ASSERT_EQ(rdma_bind_addr(first, AsSockaddr(address)), 0);
  address = first->route.addr.src_storage;
  EXPECT_EQ(rdma_bind_addr(second, AsSockaddr(address)), 0);
}

TEST(OptionTest, OptionsAreRefusedWithAWrongSizeOrTooLate) {
  CmEnd end;
  rdma_cm_id* const listener = end.Listen();
  rdma_cm_id* const id = end.MakeId();
  EXPECT_EQ(Set(id, RDMA_OPTION_ID_TOS, int{1}), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(Set(id, RDMA_OPTION_ID_AFONLY, uint8_t{1}), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(Set(id, RDMA_OPTION_ID_AFONLY, int{1}), 0);
  EXPECT_EQ(Set(id, RDMA_OPTION_ID_ACK_TIMEOUT, uint8_t{32}), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(Set(listener, RDMA_OPTION_ID_REUSEADDR, int{1}), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(Set(listener, RDMA_OPTION_ID_AFONLY, int{1}), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(Set(end.MakeId(RDMA_PS_UDP), RDMA_OPTION_ID_ACK_TIMEOUT, uint8_t{1}), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(OptionTest, OtherOptionsAreUnknown) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  uint8_t value = 0;
  EXPECT_EQ(Set(id, 77, value), -1);
  EXPECT_EQ(errno, ENOSYS);
  EXPECT_EQ(rdma_set_option(id, 7, RDMA_OPTION_ID_TOS, &value, 1), -1);
  EXPECT_EQ(errno, ENOSYS);
}

TEST(OptionTest, AGivenPathResolvesTheRoute) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  ibv_path_data path{};
  EXPECT_EQ(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, sizeof path), -1);
  EXPECT_EQ(errno, EINVAL);
  sockaddr_storage address = LoopbackAddress(AF_INET, 7174);
  ASSERT_EQ(rdma_resolve_addr(id, nullptr, AsSockaddr(address), 1), 0);
  end.Next(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, 3), -1);
  EXPECT_EQ(errno, EINVAL);
  ASSERT_EQ(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, sizeof path), 0);
  end.Next(RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_EQ(id->route.num_paths, 1);
}

TEST(OptionTest, EceIsRefusedWithAQueuePair) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  ibv_ece ece{.vendor_id = 0x15b3, .options = 1, .comp_mask = 0};
  EXPECT_EQ(rdma_set_local_ece(id, &ece), 0);
  EXPECT_EQ(rdma_get_remote_ece(id, &ece), 0);
  EXPECT_EQ(ece.vendor_id, 0U);
  EXPECT_EQ(rdma_set_local_ece(id, &ece), -1);  // no vendor
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_get_remote_ece(id, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::rdmacm
