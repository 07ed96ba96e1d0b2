#include "ibverbs/objects/qp.h"

#include <fcntl.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsEnd;
using testing::VerbsQp;

class QpTest : public ::testing::Test {
 protected:
  ibv_qp_init_attr_ex Wish() {
    ibv_qp_init_attr_ex wish{};
    wish.send_cq = wish.recv_cq = end.cq;
    wish.cap = {.max_send_wr = 1,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    wish.qp_type = IBV_QPT_RC;
    wish.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
    wish.pd = end.pd;
    return wish;
  }
  int ErrorOf(ibv_qp_init_attr_ex wish) {
    errno = 0;
    ibv_qp* const qp = ibv_create_qp_ex(end.context, &wish);
    if (qp == nullptr) return errno;
    return ibv_destroy_qp(qp);
  }

  VerbsEnd end;
};

TEST_F(QpTest, HasTheFieldsOfTheVerbs) {
  int context = 0;
  ibv_qp_init_attr wish{};
  wish.qp_context = &context;
  wish.send_cq = wish.recv_cq = end.cq;
  wish.qp_type = IBV_QPT_UC;
  ibv_qp* const qp = ibv_create_qp(end.pd, &wish);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(qp->context, end.context);
  EXPECT_EQ(qp->qp_context, &context);
  EXPECT_EQ(qp->pd, end.pd);
  EXPECT_EQ(qp->send_cq, end.cq);
  EXPECT_EQ(qp->recv_cq, end.cq);
  EXPECT_EQ(qp->srq, nullptr);
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
  EXPECT_EQ(qp->qp_type, IBV_QPT_UC);
  EXPECT_NE(qp->qp_num, 0U);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(QpTest, ReturnsTheGrantedCapacities) {
  ibv_qp_init_attr wish{};
  wish.send_cq = wish.recv_cq = end.cq;
  wish.cap = {.max_send_wr = 100,
              .max_recv_wr = 0,
              .max_send_sge = 3,
              .max_recv_sge = 0,
              .max_inline_data = 200};
  wish.qp_type = IBV_QPT_RC;
  ibv_qp* const qp = ibv_create_qp(end.pd, &wish);
  ASSERT_NE(qp, nullptr);
  EXPECT_GE(wish.cap.max_send_wr, 100U);
  EXPECT_GE(wish.cap.max_recv_wr, 1U);
  EXPECT_GE(wish.cap.max_send_sge, 3U);
  EXPECT_GE(wish.cap.max_recv_sge, 1U);
  EXPECT_GE(wish.cap.max_inline_data, 200U);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(QpTest, TheLimitsAreThoseOfTheDevice) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(end.context, &device), 0);
  const auto most_wr = static_cast<uint32_t>(device.max_qp_wr);
  const auto most_sge = static_cast<uint32_t>(device.max_sge);
  ibv_qp_init_attr_ex wish = Wish();
  EXPECT_EQ(ErrorOf(wish), 0);
  wish.cap.max_send_wr = most_wr;
  EXPECT_EQ(ErrorOf(wish), 0);
  wish.cap.max_send_wr = most_wr + 1;
  EXPECT_EQ(ErrorOf(wish), EINVAL);
  wish = Wish();
  wish.cap.max_recv_wr = most_wr + 1;
  EXPECT_EQ(ErrorOf(wish), EINVAL);
  wish = Wish();
  wish.cap.max_recv_sge = most_sge + 1;
  EXPECT_EQ(ErrorOf(wish), EINVAL);
  wish = Wish();
  wish.cap.max_send_sge = wish.cap.max_recv_sge = most_sge;
  EXPECT_EQ(ErrorOf(wish), 0);
  wish.cap.max_inline_data = 1 << 20;
  EXPECT_EQ(ErrorOf(wish), EINVAL);
}

TEST_F(QpTest, MissingOrForeignObjectsAreRefused) {
  VerbsEnd other;
  ibv_qp_init_attr_ex wish = Wish();
  wish.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS;
  EXPECT_EQ(ErrorOf(wish), EINVAL);
  wish = Wish();
  wish.pd = other.pd;
  EXPECT_EQ(ErrorOf(wish), EINVAL);
  wish = Wish();
  wish.send_cq = nullptr;
  EXPECT_EQ(ErrorOf(wish), EINVAL);
  wish = Wish();
  wish.recv_cq = other.cq;
  EXPECT_EQ(ErrorOf(wish), EINVAL);
}

TEST_F(QpTest, UnsupportedAttributesAreRefused) {
  ibv_qp_init_attr_ex wish = Wish();
  wish.qp_type = IBV_QPT_RAW_PACKET;
  EXPECT_EQ(ErrorOf(wish), EOPNOTSUPP);
  wish.qp_type = IBV_QPT_DRIVER;
  EXPECT_EQ(ErrorOf(wish), EOPNOTSUPP);
  wish.qp_type = static_cast<ibv_qp_type>(77);
  EXPECT_EQ(ErrorOf(wish), EINVAL);
  wish = Wish();
  wish.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  EXPECT_EQ(ErrorOf(wish), EOPNOTSUPP);
  wish = Wish();
  wish.comp_mask |= IBV_QP_INIT_ATTR_RX_HASH;
  EXPECT_EQ(ErrorOf(wish), EOPNOTSUPP);
  wish.comp_mask = 1U << 31;
  EXPECT_EQ(ErrorOf(wish), EINVAL);
}

TEST_F(QpTest, OperationsAreThoseOfTheType) {
  EXPECT_NE(end.TryMakeQp({.send_ops = IBV_QP_EX_WITH_RDMA_READ}), nullptr);
  EXPECT_NE(end.TryMakeQp({.type = IBV_QPT_UD, .send_ops = IBV_QP_EX_WITH_SEND}), nullptr);
  errno = 0;
  EXPECT_EQ(end.TryMakeQp({.type = IBV_QPT_UD, .send_ops = IBV_QP_EX_WITH_RDMA_WRITE}), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  errno = 0;
  EXPECT_EQ(end.TryMakeQp({.type = IBV_QPT_UC, .send_ops = IBV_QP_EX_WITH_RDMA_READ}), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  errno = 0;
  EXPECT_EQ(end.TryMakeQp({.send_ops = IBV_QP_EX_WITH_TSO}), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(QpTest, OnlyAnExtendedQueuePairConverts) {
  EXPECT_EQ(ibv_qp_to_qp_ex(end.MakeQp()), nullptr);
  ibv_qp* const extended = end.MakeQp({.send_ops = IBV_QP_EX_WITH_SEND});
  EXPECT_EQ(static_cast<void*>(ibv_qp_to_qp_ex(extended)), extended);
}

TEST_F(QpTest, ItsDomainsCannotBeDestroyedFirst) {
  ibv_pd* const pd = ibv_alloc_pd(end.context);
  ibv_qp_init_attr_ex wish = Wish();
  wish.pd = pd;
  ibv_qp* const qp = ibv_create_qp_ex(end.context, &wish);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(QpTest, AnXrcReceiverIsOpenedByItsNumber) {
  ibv_xrcd_init_attr domain{
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
  ibv_xrcd* const xrcd = ibv_open_xrcd(end.context, &domain);
  ibv_xrcd* const other = ibv_open_xrcd(end.context, &domain);
  ASSERT_TRUE(xrcd != nullptr && other != nullptr);
  ibv_qp_init_attr_ex wish{};
  wish.qp_type = IBV_QPT_XRC_RECV;
  wish.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  wish.xrcd = xrcd;
  ibv_qp* const first = ibv_create_qp_ex(end.context, &wish);
  ASSERT_NE(first, nullptr);
  ASSERT_EQ(end.ToInit(first), 0);
  ibv_qp_open_attr open{};
  open.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  open.qp_num = first->qp_num;
  open.xrcd = xrcd;
  open.qp_type = IBV_QPT_XRC_RECV;
  ibv_qp* const second = ibv_open_qp(end.context, &open);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->qp_num, first->qp_num);
  EXPECT_EQ(second->state, IBV_QPS_INIT);
  open.xrcd = other;
  EXPECT_EQ(ibv_open_qp(end.context, &open), nullptr);
  EXPECT_EQ(errno, EINVAL);
  // The queue pair exists until the last of the two is destroyed.
  EXPECT_EQ(ibv_destroy_qp(first), 0);
  EXPECT_EQ(end.ToState(second, IBV_QPS_ERR), 0);
  EXPECT_EQ(ibv_destroy_qp(second), 0);
  EXPECT_EQ(ibv_close_xrcd(other), 0);
  EXPECT_EQ(ibv_close_xrcd(xrcd), 0);
}

TEST_F(QpTest, DataInOrderIsNotGuaranteed) {
  EXPECT_EQ(ibv_query_qp_data_in_order(end.MakeQp(), IBV_WR_RDMA_WRITE, 0), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
