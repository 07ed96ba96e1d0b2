#include <infiniband/verbs.h>

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "ibverbs/objects/cq.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsPairTest;

class PollTest : public VerbsPairTest {};

TEST_F(PollTest, EveryOpcodeHasItsName) {
  Connect();
  const struct {
    ibv_wr_opcode posted;
    ibv_wc_opcode completed;
  } rows[] = {
      {IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE},
      {IBV_WR_RDMA_READ, IBV_WC_RDMA_READ},
      {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP},
      {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD},
      {IBV_WR_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE},
      {IBV_WR_SEND, IBV_WC_SEND},
  };
  ASSERT_EQ(b.Receive(qb, 0, 8), 0);
  for (const auto& row : rows) {
    ibv_sge sge = a.Sge(0, 8);
    ibv_send_wr wr = Request(row.posted, &sge, 77);
    if (row.completed == IBV_WC_COMP_SWAP || row.completed == IBV_WC_FETCH_ADD) {
      wr.wr.atomic.remote_addr = reinterpret_cast<uint64_t>(b.bytes.data());
      wr.wr.atomic.rkey = b.mr->rkey;
    }
    ASSERT_EQ(a.Post(qa, wr), 0);
    const auto wc = a.Wait();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc->opcode, row.completed);
    EXPECT_EQ(wc->wr_id, 77U);
    EXPECT_EQ(wc->qp_num, qa->qp_num);
  }
  const auto wc = b.Wait();
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->opcode, IBV_WC_RECV);
  EXPECT_EQ(wc->byte_len, 8U);
  EXPECT_EQ(wc->wc_flags, 0U);
}

TEST_F(PollTest, ImmediateDataArrivesAsItWasSent) {
  Connect();
  ASSERT_EQ(b.Receive(qb, 0, 8, 5), 0);
  ASSERT_EQ(b.Receive(qb, 0, 8, 6), 0);
  for (const ibv_wr_opcode opcode : {IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM}) {
    ibv_sge sge = a.Sge(0, 8);
    ibv_send_wr wr = Request(opcode, &sge);
    wr.imm_data = 0x12345678;
    ASSERT_EQ(a.Post(qa, wr), 0);
    const auto wc = b.Wait();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wc_flags, unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(wc->imm_data, 0x12345678U);
    EXPECT_EQ(wc->opcode, opcode == IBV_WR_SEND_WITH_IMM ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM);
  }
}

// Together with the test above: posted immediate data has this byte order, too.
TEST(ImmediateOfTest, HasTheBytesOfThePacketInTheirOrder) {
  Completion completion;
  completion.with_immediate = true;
  completion.immediate = Immediate{0x01020304};
  const uint32_t data = ImmediateOf(completion);
  EXPECT_EQ(std::memcmp(&data, "\x01\x02\x03\x04", sizeof data), 0);
}

TEST(ImmediateOfTest, AnInvalidatedKeyIsInHostByteOrder) {
  Completion completion;
  completion.with_invalidate = true;
  completion.invalidated = Key{0x01020304};
  EXPECT_EQ(ImmediateOf(completion), 0x01020304U);
}

TEST_F(PollTest, ADatagramCompletionHasItsSource) {
  Connect({.type = IBV_QPT_UD});
  ASSERT_EQ(b.Receive(qb, 0, 128), 0);
  a.Fill(0, "datagram");
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
  wr.wr.ud = {.ah = a.MakeAh(), .remote_qpn = qb->qp_num, .remote_qkey = a.kQKey};
  ASSERT_EQ(a.Post(qa, wr), 0);
  const auto wc = b.Wait();
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc->wc_flags, unsigned{IBV_WC_GRH});
  EXPECT_EQ(wc->src_qp, qa->qp_num);
  EXPECT_EQ(wc->byte_len, 48U);
  EXPECT_EQ(b.Text(40, 8), "datagram");
}

TEST_F(PollTest, SeveralCompletionsArePolledInOrder) {
  Connect();
  constexpr int kCount = 40;
  ibv_sge sge = a.Sge(0, 8);
  for (int i = 0; i < kCount; ++i) {
    ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, &sge, static_cast<uint64_t>(i));
    ASSERT_EQ(a.Post(qa, wr), 0);
  }
  std::vector<ibv_wc> all;
  while (all.size() < kCount) {
    const auto first = a.Wait();
    ASSERT_TRUE(first);
    all.push_back(*first);
    ibv_wc more[kCount];
    const int found = ibv_poll_cq(a.cq, kCount, more);
    ASSERT_GE(found, 0);
    all.insert(all.end(), more, more + found);
  }
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].wr_id, i);
  ibv_wc none;
  EXPECT_EQ(ibv_poll_cq(a.cq, 1, &none), 0);
  EXPECT_EQ(ibv_poll_cq(a.cq, 0, nullptr), 0);
}

TEST_F(PollTest, AfterAFailureTheQueuePairIsInError) {
  Connect();
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, &sge);
  wr.wr.rdma.rkey ^= 0x100;
  ASSERT_EQ(a.Post(qa, wr), 0);
  EXPECT_EQ(qa->state, IBV_QPS_RTS);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(qa->state, IBV_QPS_ERR);
}

TEST_F(PollTest, PollingAnOverflowedQueueFails) {
  ibv_cq* const small = ibv_create_cq(a.context, 1, nullptr, nullptr, 0);
  ASSERT_NE(small, nullptr);
  const uint32_t depth = static_cast<uint32_t>(small->cqe) + 1;
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = small;
  attributes.cap = {.max_send_wr = 1,
                    .max_recv_wr = depth,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  attributes.qp_type = IBV_QPT_RC;
  ibv_qp* const qp = ibv_create_qp(a.pd, &attributes);
  ASSERT_EQ(a.ToInit(qp), 0);
  for (uint32_t i = 0; i < depth; ++i) ASSERT_EQ(a.Receive(qp, 0, 8), 0);
  ASSERT_EQ(a.ToState(qp, IBV_QPS_ERR), 0);
  ibv_wc wc[8];
  int found = 0;
  for (uint32_t i = 0; i <= depth && found >= 0; ++i) found = ibv_poll_cq(small, 8, wc);
  EXPECT_EQ(found, -1);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(small), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
