#include "ibverbs/objects/srq.h"

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsPairTest;

class SrqTest : public VerbsPairTest {
 protected:
  static ibv_srq* Make(ibv_pd* pd, uint32_t depth, uint32_t sges = 1) {
    ibv_srq_init_attr wish{.srq_context = nullptr,
                           .attr = {.max_wr = depth, .max_sge = sges, .srq_limit = 0}};
    errno = 0;
    return ibv_create_srq(pd, &wish);
  }
  static int Post(testing::VerbsEnd& end, ibv_srq* srq, size_t offset, uint64_t id) {
    ibv_sge sge = end.Sge(offset, 64);
    ibv_recv_wr wr{.wr_id = id, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* refused = nullptr;
    return ibv_post_srq_recv(srq, &wr, &refused);
  }
  static ibv_xrcd* OpenXrcd(ibv_context* context) {
    ibv_xrcd_init_attr wish{.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
                            .fd = -1,
                            .oflags = O_CREAT};
    return ibv_open_xrcd(context, &wish);
  }
};

TEST_F(SrqTest, HasAtLeastTheRequestedSize) {
  ibv_srq_init_attr wish{.srq_context = &wish,
                         .attr = {.max_wr = 50, .max_sge = 3, .srq_limit = 0}};
  ibv_srq* const srq = ibv_create_srq(a.pd, &wish);
  ASSERT_NE(srq, nullptr);
  EXPECT_GE(wish.attr.max_wr, 50U);
  EXPECT_GE(wish.attr.max_sge, 3U);
  EXPECT_EQ(srq->context, a.context);
  EXPECT_EQ(srq->srq_context, &wish);
  EXPECT_EQ(srq->pd, a.pd);
  ibv_srq_attr queried{};
  ASSERT_EQ(ibv_query_srq(srq, &queried), 0);
  EXPECT_EQ(queried.max_wr, wish.attr.max_wr);
  EXPECT_EQ(queried.max_sge, wish.attr.max_sge);
  EXPECT_EQ(queried.srq_limit, 0U);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(SrqTest, RefusesInvalidSizes) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(a.context, &device), 0);
  const auto depth = static_cast<uint32_t>(device.max_srq_wr);
  const auto sges = static_cast<uint32_t>(device.max_srq_sge);
  EXPECT_EQ(Make(a.pd, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(Make(a.pd, depth + 1), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(Make(a.pd, 1, sges + 1), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_srq* const srq = Make(a.pd, depth, sges);
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(SrqTest, LimitAndSizeCanBeModified) {
  ibv_srq* const srq = Make(a.pd, 16);
  ibv_srq_attr change{.max_wr = 100, .max_sge = 0, .srq_limit = 60};
  EXPECT_EQ(ibv_modify_srq(srq, &change, IBV_SRQ_LIMIT), EINVAL);  // more than its capacity
  EXPECT_EQ(ibv_modify_srq(srq, &change, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
  ibv_srq_attr queried{};
  ASSERT_EQ(ibv_query_srq(srq, &queried), 0);
  EXPECT_GE(queried.max_wr, 100U);
  EXPECT_EQ(queried.srq_limit, 60U);
  EXPECT_EQ(ibv_modify_srq(srq, &change, 1 << 7), EINVAL);
  change.max_wr = 1U << 31;
  EXPECT_EQ(ibv_modify_srq(srq, &change, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(SrqTest, CannotBeDestroyedWhileAQueuePairUsesIt) {
  ibv_srq* const srq = Make(a.pd, 16);
  ibv_qp* const qp = a.MakeQp({.srq = srq});
  EXPECT_EQ(ibv_destroy_srq(srq), EBUSY);
  EXPECT_EQ(a.EndQp(qp), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

// Receives of an SRQ are checked against the domain of the SRQ, not that of the queue pair.
TEST_F(SrqTest, ReceivesBelongToItsOwnDomain) {
  ibv_pd* const other = ibv_alloc_pd(b.context);
  ibv_mr* const mr = ibv_reg_mr(other, b.bytes.data(), 4'096, int{IBV_ACCESS_LOCAL_WRITE});
  ibv_srq* const srq = Make(other, 16);
  ASSERT_NE(srq, nullptr);
  qa = a.MakeQp();
  qb = b.MakeQp({.srq = srq});
  a.Start(qa, qb->qp_num);
  b.Start(qb, qa->qp_num);
  ibv_sge good{.addr = reinterpret_cast<uint64_t>(b.bytes.data()), .length = 64, .lkey = mr->lkey};
  ibv_recv_wr receive{.wr_id = 1, .next = nullptr, .sg_list = &good, .num_sge = 1};
  ibv_recv_wr* refused = nullptr;
  ASSERT_EQ(ibv_post_srq_recv(srq, &receive, &refused), 0);
  ASSERT_EQ(Post(b, srq, 0, 2), 0);  // a region of the queue pair's domain
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
  ASSERT_EQ(a.Post(qa, wr), 0);
  EXPECT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  ASSERT_EQ(a.Post(qa, wr), 0);
  EXPECT_EQ(b.WaitStatus(), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(b.EndQp(qb), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST_F(SrqTest, RaisesTheLimitEvent) {
  ibv_srq* const srq = Make(b.pd, 16);
  ASSERT_NE(srq, nullptr);
  qa = a.MakeQp();
  qb = b.MakeQp({.srq = srq});
  a.Start(qa, qb->qp_num);
  b.Start(qb, qa->qp_num);
  ASSERT_EQ(Post(b, srq, 0, 1), 0);
  ASSERT_EQ(Post(b, srq, 64, 2), 0);
  ibv_srq_attr limit{.max_wr = 0, .max_sge = 0, .srq_limit = 2};
  ASSERT_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
  ASSERT_EQ(a.Post(qa, wr), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(b.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, srq);
  ibv_ack_async_event(&event);
  EXPECT_EQ(b.EndQp(qb), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(SrqTest, OnlyAnXrcSrqHasANumber) {
  ibv_srq* const srq = Make(a.pd, 16);
  uint32_t number = 0;
  EXPECT_EQ(ibv_get_srq_num(srq, &number), EOPNOTSUPP);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(SrqTest, AnXrcSrqNeedsADomainAndACompletionQueue) {
  ibv_srq_init_attr_ex wish{};
  wish.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
  wish.srq_type = IBV_SRQT_XRC;
  wish.pd = a.pd;
  wish.cq = a.cq;
  wish.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ;
  EXPECT_EQ(ibv_create_srq_ex(a.context, &wish), nullptr);
  EXPECT_EQ(errno, EINVAL);
  wish.srq_type = IBV_SRQT_TM;  // needs tm_cap
  EXPECT_EQ(ibv_create_srq_ex(a.context, &wish), nullptr);
  EXPECT_EQ(errno, EINVAL);
  wish.comp_mask |= 1U << 31;
  EXPECT_EQ(ibv_create_srq_ex(a.context, &wish), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// An XRC message names the SRQ that it goes to.
TEST_F(SrqTest, XrcMessagesAddressAnSrq) {
  ibv_xrcd* const xrcd = OpenXrcd(b.context);
  ASSERT_NE(xrcd, nullptr);
  ibv_srq_init_attr_ex wish{};
  wish.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
  wish.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  wish.srq_type = IBV_SRQT_XRC;
  wish.pd = b.pd;
  wish.xrcd = xrcd;
  wish.cq = b.cq;
  ibv_srq* const srq = ibv_create_srq_ex(b.context, &wish);
  ASSERT_NE(srq, nullptr);
  uint32_t number = 0;
  ASSERT_EQ(ibv_get_srq_num(srq, &number), 0);
  EXPECT_NE(number, 0U);

  ibv_qp_init_attr_ex receiver{};
  receiver.qp_type = IBV_QPT_XRC_RECV;
  receiver.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  receiver.xrcd = xrcd;
  ibv_qp* const to = ibv_create_qp_ex(b.context, &receiver);
  ASSERT_NE(to, nullptr);
  EXPECT_EQ(to->pd, nullptr);
  ibv_qp* const from = a.MakeQp({.type = IBV_QPT_XRC_SEND});
  a.Start(from, to->qp_num);
  ASSERT_EQ(b.ToInit(to), 0);
  ASSERT_EQ(b.ToRtr(to, from->qp_num), 0);

  ASSERT_EQ(Post(b, srq, 128, 33), 0);
  a.Fill(0, "extended");
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
  wr.qp_type.xrc.remote_srqn = number;
  ASSERT_EQ(a.Post(from, wr), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  const auto wc = b.Wait();
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->wr_id, 33U);
  EXPECT_EQ(b.Text(128, 8), "extended");
  EXPECT_EQ(ibv_close_xrcd(xrcd), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(to), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_close_xrcd(xrcd), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
