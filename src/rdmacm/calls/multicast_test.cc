#include <rdma/rdma_cma.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

using testing::AsSockaddr;
using testing::CmEnd;
using testing::MakeQp;

sockaddr_storage GroupAddress() {
  sockaddr_storage storage = testing::LoopbackAddress(AF_INET, 0);
  reinterpret_cast<sockaddr_in&>(storage).sin_addr.s_addr = htonl(0xEF000107);  // 239.0.1.7
  return storage;
}

rdma_cm_id* DatagramId(CmEnd& end) {
  rdma_cm_id* const id = end.MakeId(RDMA_PS_UDP);
  sockaddr_storage address = testing::LoopbackAddress();
  EXPECT_EQ(rdma_bind_addr(id, AsSockaddr(address)), 0);
  MakeQp(id);
  return id;
}

TEST(MulticastCallsTest, TheJoinEventHasTheAddressOfTheGroup) {
  CmEnd end;
  rdma_cm_id* const id = DatagramId(end);
  sockaddr_storage group = GroupAddress();
  int context = 0;
  ASSERT_EQ(rdma_join_multicast(id, AsSockaddr(group), &context), 0);
  const auto event = end.Next(RDMA_CM_EVENT_MULTICAST_JOIN);
  EXPECT_EQ(event->status, 0);
  EXPECT_EQ(event->param.ud.private_data, &context);
  EXPECT_EQ(event->param.ud.qp_num, 0xFFFFFFU);
  EXPECT_EQ(event->param.ud.qkey, uint32_t{RDMA_UDP_QKEY});
  EXPECT_EQ(event->param.ud.ah_attr.grh.dgid.raw[11], 0xFF);
  EXPECT_EQ(event->param.ud.ah_attr.grh.dgid.raw[12], 239);
  // Leaving detaches the queue pair.
  EXPECT_EQ(rdma_leave_multicast(id, AsSockaddr(group)), 0);
  EXPECT_EQ(ibv_detach_mcast(id->qp, &event->param.ud.ah_attr.grh.dgid, 0), EINVAL);
  EXPECT_EQ(rdma_leave_multicast(id, AsSockaddr(group)), -1);
  EXPECT_EQ(errno, EADDRNOTAVAIL);
}

TEST(MulticastCallsTest, AMemberCanBeDestroyedWithoutLeaving) {
  CmEnd end;
  rdma_cm_id* const id = DatagramId(end);
  sockaddr_storage group = GroupAddress();
  ASSERT_EQ(rdma_join_multicast(id, AsSockaddr(group), nullptr), 0);
  end.Next(RDMA_CM_EVENT_MULTICAST_JOIN);
}

TEST(MulticastCallsTest, LeavingDropsThePendingEvent) {
  CmEnd end;
  rdma_cm_id* const id = DatagramId(end);
  sockaddr_storage group = GroupAddress();
  ASSERT_EQ(rdma_join_multicast(id, AsSockaddr(group), nullptr), 0);
  ASSERT_EQ(rdma_leave_multicast(id, AsSockaddr(group)), 0);
  ASSERT_EQ(rdma_join_multicast(id, AsSockaddr(group), nullptr), 0);
  end.Next(RDMA_CM_EVENT_MULTICAST_JOIN);
}

TEST(MulticastCallsTest, ASendOnlyMemberIsNotAttached) {
  CmEnd end;
  rdma_cm_id* const id = DatagramId(end);
  sockaddr_storage group = GroupAddress();
  rdma_cm_join_mc_attr_ex attributes{};
  attributes.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
  attributes.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
  attributes.addr = AsSockaddr(group);
  ASSERT_EQ(rdma_join_multicast_ex(id, &attributes, nullptr), 0);
  const auto event = end.Next(RDMA_CM_EVENT_MULTICAST_JOIN);
  EXPECT_EQ(ibv_detach_mcast(id->qp, &event->param.ud.ah_attr.grh.dgid, 0), EINVAL);
}

TEST(MulticastCallsTest, WrongAttributesAreRefused) {
  CmEnd end;
  rdma_cm_id* const id = DatagramId(end);
  sockaddr_storage group = GroupAddress();
  rdma_cm_join_mc_attr_ex attributes{};
  attributes.addr = AsSockaddr(group);
  attributes.comp_mask = RDMA_CM_JOIN_MC_ATTR_RESERVED;
  EXPECT_EQ(rdma_join_multicast_ex(id, &attributes, nullptr), -1);
  EXPECT_EQ(errno, ENOTSUP);
  attributes.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
  EXPECT_EQ(rdma_join_multicast_ex(id, &attributes, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  attributes.comp_mask |= RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
  attributes.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
  EXPECT_EQ(rdma_join_multicast_ex(id, &attributes, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(MulticastCallsTest, OnlyBoundDatagramIdsCanJoin) {
  CmEnd end;
  sockaddr_storage group = GroupAddress();
  EXPECT_EQ(rdma_join_multicast(end.MakeId(RDMA_PS_TCP), AsSockaddr(group), nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_join_multicast(end.MakeId(RDMA_PS_UDP), AsSockaddr(group), nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(MulticastCallsTest, JoiningAUnicastAddressIsAnErrorEvent) {
  CmEnd end;
  rdma_cm_id* const id = DatagramId(end);
  sockaddr_storage unicast = testing::LoopbackAddress();
  ASSERT_EQ(rdma_join_multicast(id, AsSockaddr(unicast), nullptr), 0);
  EXPECT_EQ(end.Next(RDMA_CM_EVENT_MULTICAST_ERROR)->status, -EINVAL);
}

}  // namespace
}  // namespace verbena::rdmacm
