#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsPairTest;

class QpAttributesTest : public VerbsPairTest {
 protected:
  static int Modify(ibv_qp* qp, const ibv_qp_attr& attributes, int mask) {
    ibv_qp_attr copy = attributes;
    return ibv_modify_qp(qp, &copy, mask);
  }
};

TEST_F(QpAttributesTest, TheStateFieldIsUpToDate) {
  ibv_qp* const qp = a.MakeQp();
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
  ASSERT_EQ(a.ToInit(qp), 0);
  EXPECT_EQ(qp->state, IBV_QPS_INIT);
  ASSERT_EQ(a.ToRtr(qp, qp->qp_num), 0);
  EXPECT_EQ(qp->state, IBV_QPS_RTR);
  ASSERT_EQ(a.ToRts(qp), 0);
  EXPECT_EQ(qp->state, IBV_QPS_RTS);
  ASSERT_EQ(a.ToState(qp, IBV_QPS_ERR), 0);
  EXPECT_EQ(qp->state, IBV_QPS_ERR);
  ASSERT_EQ(a.ToState(qp, IBV_QPS_RESET), 0);
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
}

TEST_F(QpAttributesTest, AQueryReturnsTheValuesThatWereSet) {
  ibv_qp* const qp = a.MakeQp({.depth = 33, .sges = 3, .inline_bytes = 100, .sq_sig_all = 1});
  ASSERT_EQ(a.ToInit(qp), 0);
  ibv_qp_attr set{};
  set.qp_state = IBV_QPS_RTR;
  set.path_mtu = IBV_MTU_2048;
  set.dest_qp_num = 0xDE123456;  // drivers use the low 24 bits
  set.rq_psn = 0x01ABCDEF;
  set.max_dest_rd_atomic = 7;
  set.min_rnr_timer = 13;
  set.ah_attr = a.LoopbackWay();
  set.ah_attr.grh.traffic_class = 0x20;
  set.ah_attr.grh.hop_limit = 9;
  ASSERT_EQ(Modify(qp, set,
                   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            0);
  set.qp_state = IBV_QPS_RTS;
  set.sq_psn = 0xFF111213;
  set.timeout = 15;
  set.retry_cnt = 3;
  set.rnr_retry = 4;
  set.max_rd_atomic = 5;
  ASSERT_EQ(Modify(qp, set,
                   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
            0);
  ibv_qp_attr queried{};
  ibv_qp_init_attr creation{};
  ASSERT_EQ(ibv_query_qp(qp, &queried, 0, &creation), 0);
  EXPECT_EQ(queried.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(queried.cur_qp_state, IBV_QPS_RTS);
  EXPECT_EQ(queried.path_mtu, IBV_MTU_2048);
  EXPECT_EQ(queried.dest_qp_num, 0x123456U);
  EXPECT_EQ(queried.rq_psn, 0xABCDEFU);
  EXPECT_EQ(queried.sq_psn, 0x111213U);
  EXPECT_EQ(queried.max_dest_rd_atomic, 7);
  EXPECT_EQ(queried.max_rd_atomic, 5);
  EXPECT_EQ(queried.min_rnr_timer, 13);
  EXPECT_EQ(queried.timeout, 15);
  EXPECT_EQ(queried.retry_cnt, 3);
  EXPECT_EQ(queried.rnr_retry, 4);
  EXPECT_EQ(queried.port_num, 1);
  EXPECT_EQ(queried.pkey_index, 0);
  EXPECT_EQ(queried.path_mig_state, IBV_MIG_MIGRATED);
  EXPECT_EQ(queried.qp_access_flags,
            unsigned{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC});
  EXPECT_EQ(queried.ah_attr.is_global, 1);
  EXPECT_EQ(queried.ah_attr.port_num, 1);
  EXPECT_EQ(queried.ah_attr.grh.sgid_index, set.ah_attr.grh.sgid_index);
  EXPECT_EQ(queried.ah_attr.grh.traffic_class, 0x20);
  EXPECT_EQ(queried.ah_attr.grh.hop_limit, 9);
  EXPECT_EQ(std::memcmp(&queried.ah_attr.grh.dgid, &set.ah_attr.grh.dgid, sizeof(ibv_gid)), 0);
  EXPECT_GE(queried.cap.max_send_wr, 33U);
  EXPECT_EQ(creation.cap.max_send_sge, 3U);
  EXPECT_EQ(creation.cap.max_inline_data, 100U);
  EXPECT_EQ(creation.sq_sig_all, 1);
  EXPECT_EQ(creation.qp_type, IBV_QPT_RC);
  EXPECT_EQ(creation.send_cq, a.cq);
}

TEST_F(QpAttributesTest, ADatagramQueuePairHasAQKey) {
  ibv_qp* const qp = a.MakeQp({.type = IBV_QPT_UD});
  a.Start(qp, 0);
  ibv_qp_attr queried{};
  ibv_qp_init_attr creation{};
  ASSERT_EQ(ibv_query_qp(qp, &queried, IBV_QP_QKEY, &creation), 0);
  EXPECT_EQ(queried.qkey, a.kQKey);
  ibv_qp_attr change{};
  change.qkey = 5;
  EXPECT_EQ(Modify(qp, change, IBV_QP_QKEY), 0);
  ASSERT_EQ(ibv_query_qp(qp, &queried, IBV_QP_QKEY, &creation), 0);
  EXPECT_EQ(queried.qkey, 5U);
}

TEST_F(QpAttributesTest, XrcHalvesAcceptTheAttributesOfBothHalves) {
  ibv_qp* const qp = a.MakeQp({.type = IBV_QPT_XRC_SEND});
  ASSERT_EQ(a.ToInit(qp), 0);
  ibv_qp_attr rtr{};
  rtr.qp_state = IBV_QPS_RTR;
  rtr.path_mtu = IBV_MTU_1024;
  rtr.dest_qp_num = qp->qp_num;
  rtr.ah_attr = a.LoopbackWay();
  EXPECT_EQ(Modify(qp, rtr,
                   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            0);
  EXPECT_EQ(qp->state, IBV_QPS_RTR);
}

TEST_F(QpAttributesTest, NumbersOutOfRangeAreRefused) {
  ibv_qp* const qp = a.MakeQp();
  ibv_qp_attr wrong{};
  wrong.qp_state = IBV_QPS_UNKNOWN;
  EXPECT_EQ(Modify(qp, wrong, IBV_QP_STATE), EINVAL);
  wrong.qp_state = IBV_QPS_INIT;
  EXPECT_EQ(Modify(qp, wrong, IBV_QP_STATE | 1 << 30), EINVAL);
  EXPECT_EQ(Modify(qp, wrong, IBV_QP_STATE), EINVAL);  // required attributes are missing
  wrong.port_num = 2;
  EXPECT_EQ(Modify(qp, wrong, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
            EINVAL);
  ASSERT_EQ(a.ToInit(qp), 0);
  ibv_qp_attr rtr{};
  rtr.qp_state = IBV_QPS_RTR;
  rtr.path_mtu = static_cast<ibv_mtu>(0);
  rtr.ah_attr = a.LoopbackWay();
  constexpr int kRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  EXPECT_EQ(Modify(qp, rtr, kRtr), EINVAL);
  rtr.path_mtu = IBV_MTU_1024;
  rtr.ah_attr.grh.sgid_index = 200;
  EXPECT_EQ(Modify(qp, rtr, kRtr), EINVAL);
  rtr.ah_attr = a.LoopbackWay();
  rtr.max_dest_rd_atomic = 255;
  EXPECT_EQ(Modify(qp, rtr, kRtr), EINVAL);
  rtr.max_dest_rd_atomic = 1;
  EXPECT_EQ(Modify(qp, rtr, kRtr), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
