#include <infiniband/verbs.h>

#include <cerrno>
#include <ctime>

#include <gtest/gtest.h>

#include "ibverbs/objects/cq.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsEnd;

// One end whose queue pair is connected to itself and completes in an extended CQ.
class CqExTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ibv_cq_init_attr_ex wish{};
    wish.cqe = 64;
    wish.wc_flags = kWcFlagsSupported;
    cq = ibv_create_cq_ex(end.context, &wish);
    ASSERT_NE(cq, nullptr);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = ibv_cq_ex_to_cq(cq);
    attributes.cap = {.max_send_wr = 16,
                      .max_recv_wr = 16,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = 0};
    attributes.qp_type = IBV_QPT_RC;
    qp = ibv_create_qp(end.pd, &attributes);
    ASSERT_NE(qp, nullptr);
    end.Start(qp, qp->qp_num);
  }
  void TearDown() override {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
  }

  void Send(uint64_t id) {
    ASSERT_EQ(end.Receive(qp, 64, 8, id + 100), 0);
    ibv_sge sge = end.Sge(0, 8);
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND_WITH_IMM;
    wr.imm_data = 0xABCD;
    ASSERT_EQ(end.Post(qp, wr), 0);
  }
  int StartPoll() {
    ibv_poll_cq_attr attributes{};
    const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    int result = ENOENT;
    while (result == ENOENT && std::chrono::steady_clock::now() < stop) {
      result = ibv_start_poll(cq, &attributes);
    }
    return result;
  }

  VerbsEnd end;
  ibv_cq_ex* cq = nullptr;
  ibv_qp* qp = nullptr;
};

TEST_F(CqExTest, AnEmptyQueueHasNothingToPoll) {
  ibv_poll_cq_attr attributes{};
  EXPECT_EQ(ibv_start_poll(cq, &attributes), ENOENT);
  attributes.comp_mask = 1;
  EXPECT_EQ(ibv_start_poll(cq, &attributes), EINVAL);
}

TEST_F(CqExTest, EverythingCanBeRead) {
  Send(1);
  ASSERT_EQ(StartPoll(), 0);
  EXPECT_EQ(cq->status, IBV_WC_SUCCESS);
  EXPECT_EQ(cq->wr_id, 101U);
  EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_byte_len(cq), 8U);
  EXPECT_EQ(ibv_wc_read_wc_flags(cq), unsigned{IBV_WC_WITH_IMM});
  EXPECT_EQ(ibv_wc_read_imm_data(cq), 0xABCDU);
  EXPECT_EQ(ibv_wc_read_qp_num(cq), qp->qp_num);
  EXPECT_EQ(ibv_wc_read_vendor_err(cq), 0U);
  EXPECT_EQ(ibv_wc_read_src_qp(cq), qp->qp_num);
  EXPECT_EQ(ibv_wc_read_slid(cq), 0U);
  EXPECT_EQ(ibv_wc_read_sl(cq), 0U);
  EXPECT_EQ(ibv_wc_read_dlid_path_bits(cq), 0U);
  ibv_end_poll(cq);
}

TEST_F(CqExTest, TimestampsAreOfTheMachinesClocks) {
  const auto now = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  };
  const uint64_t raw = now(CLOCK_MONOTONIC);
  const uint64_t wall = now(CLOCK_REALTIME);
  Send(1);
  ASSERT_EQ(StartPoll(), 0);
  EXPECT_GE(ibv_wc_read_completion_ts(cq), raw);
  EXPECT_LE(ibv_wc_read_completion_ts(cq), now(CLOCK_MONOTONIC));
  // The two clocks cannot be read at the same instant.
  constexpr uint64_t kSlack = 1'000'000'000;
  EXPECT_GE(ibv_wc_read_completion_wallclock_ns(cq) + kSlack, wall);
  EXPECT_LE(ibv_wc_read_completion_wallclock_ns(cq), now(CLOCK_REALTIME) + kSlack);
  ibv_end_poll(cq);
}

// However often the time is read, and even if the reader is preempted between reading two clocks.
TEST_F(CqExTest, ACompletionHasOneWallClockTime) {
  uint64_t last = 0;
  for (uint64_t id = 1; id <= 3; ++id) {
    Send(id);
    ASSERT_EQ(StartPoll(), 0);
    const uint64_t time = ibv_wc_read_completion_wallclock_ns(cq);
    for (int i = 0; i < 100'000; ++i) ASSERT_EQ(ibv_wc_read_completion_wallclock_ns(cq), time);
    EXPECT_GE(time, last);
    last = time;
    ibv_end_poll(cq);
  }
}

TEST_F(CqExTest, NextPollReturnsOneByOne) {
  for (uint64_t id = 1; id <= 3; ++id) Send(id);
  uint64_t expected = 101;
  while (expected <= 103) {
    ASSERT_EQ(StartPoll(), 0);
    do {
      EXPECT_EQ(cq->wr_id, expected++);
    } while (ibv_next_poll(cq) == 0);
    ibv_end_poll(cq);
  }
  ibv_poll_cq_attr attributes{};
  EXPECT_EQ(ibv_start_poll(cq, &attributes), ENOENT);
}

TEST_F(CqExTest, PlainPollingWorksOnIt) {
  Send(1);
  ibv_wc wc{};
  const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc) == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), stop);
  }
  EXPECT_EQ(wc.wr_id, 101U);
  EXPECT_EQ(wc.imm_data, 0xABCDU);
}

TEST_F(CqExTest, AFailureIsReportedAndTheQueuePairIsInError) {
  ASSERT_EQ(end.Receive(qp, 64, 8, 9), 0);
  ASSERT_EQ(end.ToState(qp, IBV_QPS_ERR), 0);
  qp->state = IBV_QPS_RTS;  // as before the failure
  ASSERT_EQ(StartPoll(), 0);
  EXPECT_EQ(cq->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(cq->wr_id, 9U);
  ibv_end_poll(cq);
  EXPECT_EQ(qp->state, IBV_QPS_ERR);
}

}  // namespace
}  // namespace verbena::ibverbs
