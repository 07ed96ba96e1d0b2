#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

using testing::AsSockaddr;
using testing::CmEnd;
using testing::QpWish;

struct FreeInfo {
  void operator()(rdma_addrinfo* info) const { rdma_freeaddrinfo(info); }
};

rdma_cm_id* XrcReceiver() {
  rdma_addrinfo hints{}, *info = nullptr;
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_port_space = RDMA_PS_IB;
  hints.ai_qp_type = IBV_QPT_XRC_RECV;
  EXPECT_EQ(rdma_getaddrinfo("127.0.0.1", "0", &hints, &info), 0);
  const std::unique_ptr<rdma_addrinfo, FreeInfo> owned(info);
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(rdma_create_ep(&id, info, nullptr, nullptr), 0);
  return id;
}

TEST(SrqCallsTest, TheQueuePairOfTheIdUsesTheSrq) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  sockaddr_storage address = testing::LoopbackAddress();
  ASSERT_EQ(rdma_bind_addr(id, AsSockaddr(address)), 0);
  ibv_srq_init_attr wish{};
  wish.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
  ASSERT_EQ(rdma_create_srq(id, nullptr, &wish), 0);
  ASSERT_NE(id->srq, nullptr);
  testing::MakeQp(id);
  EXPECT_EQ(id->qp->srq, id->srq);
  rdma_destroy_qp(id);
  rdma_destroy_srq(id);
  EXPECT_EQ(id->srq, nullptr);
}

TEST(SrqCallsTest, AnXrcSrqHasACompletionQueueAndADomain) {
  rdma_cm_id* const id = XrcReceiver();
  ibv_srq_init_attr wish{};
  wish.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
  ASSERT_EQ(rdma_create_srq(id, nullptr, &wish), 0);
  uint32_t number = 0;
  EXPECT_EQ(ibv_get_srq_num(id->srq, &number), 0);
  EXPECT_NE(id->recv_cq, nullptr);
  rdma_destroy_ep(id);
}

TEST(SrqCallsTest, AnSrqNeedsATypeAndADevice) {
  CmEnd end;
  rdma_cm_id* const idle = end.MakeId();
  ibv_srq_init_attr wish{};
  EXPECT_EQ(rdma_create_srq(idle, nullptr, &wish), -1);
  EXPECT_EQ(errno, EINVAL);
  rdma_cm_id* const id = end.MakeId();
  sockaddr_storage address = testing::LoopbackAddress();
  ASSERT_EQ(rdma_bind_addr(id, AsSockaddr(address)), 0);
  ibv_srq_init_attr_ex extended{};
  EXPECT_EQ(rdma_create_srq_ex(id, &extended), -1);
  EXPECT_EQ(errno, EINVAL);
  rdma_destroy_srq(id);  // the id has none
}

}  // namespace
}  // namespace verbena::rdmacm
