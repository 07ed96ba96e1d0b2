#include <rdma/rdma_cma.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

using testing::AsSockaddr;
using testing::CmEnd;
using testing::MakeQp;
using testing::QpWish;

rdma_cm_id* BoundId(CmEnd& end, rdma_port_space space = RDMA_PS_TCP) {
  rdma_cm_id* const id = end.MakeId(space);
  sockaddr_storage address = testing::LoopbackAddress();
  EXPECT_EQ(rdma_bind_addr(id, AsSockaddr(address)), 0);
  return id;
}

TEST(QpCallsTest, AConnectedQueuePairIsInInit) {
  CmEnd end;
  rdma_cm_id* const id = BoundId(end);
  MakeQp(id);
  EXPECT_EQ(id->qp->state, IBV_QPS_INIT);
  ASSERT_NE(id->send_cq, nullptr);
  EXPECT_EQ(id->send_cq->cq_context, id);
  EXPECT_NE(id->recv_cq_channel, nullptr);
  EXPECT_EQ(id->qp->send_cq, id->send_cq);
  rdma_destroy_qp(id);
  EXPECT_EQ(id->qp, nullptr);
  EXPECT_EQ(id->send_cq, nullptr);
  EXPECT_EQ(id->recv_cq_channel, nullptr);
  MakeQp(id);  // a second time
}

TEST(QpCallsTest, InlineDataHasTheSizeOfAGatherList) {
  CmEnd end;
  rdma_cm_id* const id = BoundId(end);
  ibv_qp_init_attr wish = QpWish();
  ASSERT_EQ(rdma_create_qp(id, nullptr, &wish), 0);
  EXPECT_GE(wish.cap.max_inline_data, sizeof(ibv_sge));
}

TEST(QpCallsTest, ADatagramQueuePairIsReadyToSend) {
  CmEnd end;
  rdma_cm_id* const id = BoundId(end, RDMA_PS_UDP);
  MakeQp(id);
  EXPECT_EQ(id->qp->state, IBV_QPS_RTS);
}

TEST(QpCallsTest, QueuesOfTheProgramAreNotDestroyed) {
  CmEnd end;
  rdma_cm_id* const id = BoundId(end);
  ibv_cq* const cq = ibv_create_cq(id->verbs, 16, nullptr, nullptr, 0);
  ibv_pd* const pd = ibv_alloc_pd(id->verbs);
  ibv_qp_init_attr wish = QpWish();
  wish.send_cq = wish.recv_cq = cq;
  ASSERT_EQ(rdma_create_qp(id, pd, &wish), 0);
  EXPECT_EQ(id->pd, pd);
  EXPECT_EQ(id->send_cq, nullptr);
  rdma_destroy_qp(id);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST(QpCallsTest, AnIdHasAtMostOneQueuePairAndNeedsADevice) {
  CmEnd end;
  rdma_cm_id* const idle = end.MakeId();
  ibv_qp_init_attr wish = QpWish();
  EXPECT_EQ(rdma_create_qp(idle, nullptr, &wish), -1);
  EXPECT_EQ(errno, EINVAL);
  rdma_cm_id* const id = BoundId(end);
  MakeQp(id);
  EXPECT_EQ(rdma_create_qp(id, nullptr, &wish), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(QpCallsTest, AFailedCreationLeavesNothingBehind) {
  CmEnd end;
  rdma_cm_id* const id = BoundId(end);
  ibv_qp_init_attr wish = QpWish();
  wish.cap.max_send_sge = 100'000;
  EXPECT_EQ(rdma_create_qp(id, nullptr, &wish), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(id->qp, nullptr);
  EXPECT_EQ(id->send_cq, nullptr);
}

TEST(QpCallsTest, ExtendedQueuePairsHaveTheirOperations) {
  CmEnd end;
  rdma_cm_id* const id = BoundId(end);
  ibv_qp_init_attr_ex wish{};
  wish.cap = QpWish().cap;
  wish.qp_type = IBV_QPT_RC;
  wish.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wish.send_ops_flags = IBV_QP_EX_WITH_SEND;
  ASSERT_EQ(rdma_create_qp_ex(id, &wish), 0);
  EXPECT_NE(ibv_qp_to_qp_ex(id->qp), nullptr);
  EXPECT_EQ(wish.pd, id->pd);
}

TEST(QpCallsTest, AttributesWithoutAPeerAreThoseOfInit) {
  CmEnd end;
  rdma_cm_id* const id = BoundId(end);
  ibv_qp_attr attributes{};
  int mask = 0;
  attributes.qp_state = IBV_QPS_INIT;
  ASSERT_EQ(rdma_init_qp_attr(id, &attributes, &mask), 0);
  EXPECT_EQ(mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  EXPECT_EQ(attributes.port_num, 1);
  attributes.qp_state = IBV_QPS_RTR;
  EXPECT_EQ(rdma_init_qp_attr(id, &attributes, &mask), -1);
  EXPECT_EQ(errno, EINVAL);
  attributes.qp_state = IBV_QPS_INIT;
  EXPECT_EQ(rdma_init_qp_attr(end.MakeId(), &attributes, &mask), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::rdmacm
