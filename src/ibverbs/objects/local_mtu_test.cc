#include "ibverbs/objects/local_mtu.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

constexpr MtuQuestion kUsual = {.asked = PathMtu::k1024,
                                .active = PathMtu::k1024,
                                .largest = PathMtu::k4096,
                                .is_local = true,
                                .strict = false};

TEST(LocalMtuTest, TheActiveMtuBecomesTheLargestOfALocalPath) {
  EXPECT_EQ(Granted(kUsual), PathMtu::k4096);
}

TEST(LocalMtuTest, OtherRequestsAreNotChanged) {
  MtuQuestion question = kUsual;
  question.asked = PathMtu::k512;
  EXPECT_EQ(Granted(question), PathMtu::k512) << "a program with reasons";
  question.asked = PathMtu::k2048;
  EXPECT_EQ(Granted(question), PathMtu::k2048) << "more than the program asked for";
  question = kUsual;
  question.is_local = false;
  EXPECT_EQ(Granted(question), PathMtu::k1024) << "the other end may know another path";
  question = kUsual;
  question.strict = true;
  EXPECT_EQ(Granted(question), PathMtu::k1024) << "the other end may be any implementation";
  question = kUsual;
  question.largest = PathMtu::k512;
  EXPECT_EQ(Granted(question), PathMtu::k1024) << "which the queue pair refuses";
}

// Checks how many packets a message of 4096 bytes takes, and the MTU that a query returns.
class LocalMtuConnectionTest : public testing::VerbsPairTest {
 protected:
  void ConnectWith(ibv_mtu mtu) {
    qa = a.MakeQp();
    qb = b.MakeQp();
    for (const auto& [end, qp, peer] : {std::tuple(&a, qa, qb), std::tuple(&b, qb, qa)}) {
      ASSERT_EQ(end->ToInit(qp), 0);
      ibv_qp_attr attributes{};
      attributes.qp_state = IBV_QPS_RTR;
      attributes.path_mtu = mtu;
      attributes.dest_qp_num = peer->qp_num;
      attributes.max_dest_rd_atomic = 4;
      attributes.min_rnr_timer = 12;
      attributes.ah_attr = end->LoopbackWay();
      ASSERT_EQ(ibv_modify_qp(qp, &attributes,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
                0);
      ASSERT_EQ(testing::VerbsEnd::ToRts(qp), 0);
    }
  }
  // The minimum of 8 writes: a page fault at the receiver can make the sender retransmit.
  uint64_t FewestPackets() {
    uint64_t fewest = UINT64_MAX;
    for (int i = 0; i < 8; ++i) fewest = std::min(fewest, PacketsOfOneWrite());
    return fewest;
  }
  uint64_t PacketsOfOneWrite() {
    const auto sent = [] { return verbena::Context::QueryProcess().port.packets_sent; };
    const uint64_t before = sent();
    ibv_sge sge = a.Sge(0, 4'096);
    ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, &sge);
    EXPECT_EQ(a.Post(qa, wr), 0);
    EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
    return sent() - before;
  }
  ibv_mtu QueriedMtu() const {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr creation{};
    EXPECT_EQ(ibv_query_qp(qa, &attributes, IBV_QP_PATH_MTU, &creation), 0);
    return attributes.path_mtu;
  }
};

TEST_F(LocalMtuConnectionTest, AMessageOfTheLoopbackMtuIsOnePacket) {
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(a.context, 1, &port), 0);
  ConnectWith(port.active_mtu);
  EXPECT_LE(FewestPackets(), 3U) << "with its acknowledgement";
  EXPECT_EQ(QueriedMtu(), port.active_mtu) << "what the program set";
}

TEST_F(LocalMtuConnectionTest, LessThanTheActiveMtuIsKept) {
  ConnectWith(IBV_MTU_256);
  EXPECT_GE(FewestPackets(), 16U);
  EXPECT_EQ(QueriedMtu(), IBV_MTU_256);
}

}  // namespace
}  // namespace verbena::ibverbs
