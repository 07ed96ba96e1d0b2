#include "rdmacm/objects/qp_transition.h"

#include <gtest/gtest.h>

#include "rdmacm/objects/path.h"

namespace verbena::rdmacm {
namespace {

// An id on 127.0.0.1 whose connection parameters are agreed.
struct AgreedId {
  explicit AgreedId(ibv_qp_type type) : id(&channel, nullptr, RDMA_PS_TCP, type) {
    EXPECT_TRUE(AttachDevice(id));
    const CmAddress loopback{.ip = *ParseIpAddress("127.0.0.1"), .port = 7174};
    ShowLocal(id, loopback);
    ShowRemote(id, loopback);
    id.agreement = {.own_psn = Psn{11},
                    .peer_psn = Psn{22},
                    .peer_qp = QpNumber{33},
                    .responder_resources = 4,
                    .initiator_depth = 5,
                    .retry_count = 6,
                    .rnr_retry_count = 7,
                    .ack_timeout = 8,
                    .mtu = PathMtu::k2048};
  }

  rdma_event_channel channel{};
  Id id;
};

constexpr int kRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kRts = IBV_QP_STATE | IBV_QP_SQ_PSN;
constexpr int kOfReceiver = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kOfSender = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

TEST(QpTransitionTest, TheMaskDependsOnTheType) {
  const struct {
    ibv_qp_type type;
    int rtr, rts;
  } rows[] = {
      {IBV_QPT_RC, kRtr | kOfReceiver, kRts | kOfSender | IBV_QP_TIMEOUT},
      {IBV_QPT_UC, kRtr, kRts},
      {IBV_QPT_XRC_SEND, kRtr, kRts | kOfSender | IBV_QP_TIMEOUT},
      {IBV_QPT_XRC_RECV, kRtr | kOfReceiver, kRts | IBV_QP_TIMEOUT},
  };
  for (const auto& row : rows) {
    const AgreedId agreed(row.type);
    EXPECT_EQ(ChangeTo(agreed.id, IBV_QPS_RTR)->mask, row.rtr) << row.type;
    EXPECT_EQ(ChangeTo(agreed.id, IBV_QPS_RTS)->mask, row.rts) << row.type;
  }
}

TEST(QpTransitionTest, TheValuesAreThoseOfTheConnection) {
  const AgreedId agreed(IBV_QPT_RC);
  const auto init = ChangeTo(agreed.id, IBV_QPS_INIT);
  EXPECT_EQ(init->attributes.qp_access_flags,
            unsigned{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC});
  const auto rtr = ChangeTo(agreed.id, IBV_QPS_RTR);
  ASSERT_TRUE(rtr) << rtr.error().text;
  EXPECT_EQ(rtr->attributes.rq_psn, 11U);
  EXPECT_EQ(rtr->attributes.dest_qp_num, 33U);
  EXPECT_EQ(rtr->attributes.max_dest_rd_atomic, 4);
  EXPECT_EQ(rtr->attributes.path_mtu, IBV_MTU_2048);
  EXPECT_EQ(rtr->attributes.ah_attr.is_global, 1);
  EXPECT_EQ(rtr->attributes.ah_attr.grh.dgid.raw[12], 127);
  const auto rts = ChangeTo(agreed.id, IBV_QPS_RTS);
  EXPECT_EQ(rts->attributes.sq_psn, 22U);
  EXPECT_EQ(rts->attributes.max_rd_atomic, 5);
  EXPECT_EQ(rts->attributes.retry_cnt, 6);
  EXPECT_EQ(rts->attributes.rnr_retry, 7);
  EXPECT_EQ(rts->attributes.timeout, 8);
}

TEST(QpTransitionTest, OnlyAPeerWithInfiniteRnrRetriesGetsAShortTimer) {
  AgreedId agreed(IBV_QPT_RC);
  EXPECT_EQ(ChangeTo(agreed.id, IBV_QPS_RTR)->attributes.min_rnr_timer, 0);  // 655 ms
  agreed.id.agreement->peer_rnr_retry_count = 6;
  EXPECT_EQ(ChangeTo(agreed.id, IBV_QPS_RTR)->attributes.min_rnr_timer, 0);
  agreed.id.agreement->peer_rnr_retry_count = 7;
  EXPECT_EQ(ChangeTo(agreed.id, IBV_QPS_RTR)->attributes.min_rnr_timer, 12);  // 0.64 ms
}

TEST(QpTransitionTest, APeerWithoutReadsGetsNoReadAccess) {
  AgreedId agreed(IBV_QPT_RC);
  agreed.id.agreement->responder_resources = 0;
  EXPECT_EQ(ChangeTo(agreed.id, IBV_QPS_INIT)->attributes.qp_access_flags,
            unsigned{IBV_ACCESS_REMOTE_WRITE});
}

TEST(QpTransitionTest, DatagramsHaveAQueueKey) {
  const AgreedId agreed(IBV_QPT_UD);
  const auto init = ChangeTo(agreed.id, IBV_QPS_INIT);
  EXPECT_EQ(init->mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  EXPECT_EQ(init->attributes.qkey, uint32_t{RDMA_UDP_QKEY});
  EXPECT_EQ(ChangeTo(agreed.id, IBV_QPS_RTR)->mask, IBV_QP_STATE);
  EXPECT_EQ(ChangeTo(agreed.id, IBV_QPS_RTS)->mask, kRts);
}

TEST(QpTransitionTest, OtherStatesAreRefused) {
  const AgreedId agreed(IBV_QPT_RC);
  EXPECT_FALSE(ChangeTo(agreed.id, IBV_QPS_SQD));
  EXPECT_FALSE(ChangeTo(agreed.id, IBV_QPS_ERR));
}

TEST(QpTransitionTest, WithoutAQueuePairNothingIsMoved) {
  const AgreedId agreed(IBV_QPT_RC);
  EXPECT_TRUE(MakeReady(agreed.id, {}));
  EXPECT_TRUE(MoveToError(agreed.id));
}

}  // namespace
}  // namespace verbena::rdmacm
