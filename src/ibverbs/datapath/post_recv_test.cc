#include <infiniband/verbs.h>

#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsPairTest;

class PostRecvTest : public VerbsPairTest {
 protected:
  void SendText(const char* text) {
    a.Fill(0, text);
    ibv_sge sge = a.Sge(0, static_cast<uint32_t>(std::strlen(text)));
    ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
    ASSERT_EQ(a.Post(qa, wr), 0);
    EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  }
};

TEST_F(PostRecvTest, AChainIsFilledInOrder) {
  Connect();
  ibv_sge sges[] = {b.Sge(0, 8), b.Sge(100, 8), b.Sge(200, 8)};
  std::vector<ibv_recv_wr> chain(3);
  for (size_t i = 0; i < 3; ++i) {
    chain[i] = {
        .wr_id = i, .next = i < 2 ? &chain[i + 1] : nullptr, .sg_list = &sges[i], .num_sge = 1};
  }
  ibv_recv_wr* refused = nullptr;
  ASSERT_EQ(ibv_post_recv(qb, chain.data(), &refused), 0);
  SendText("first");
  SendText("second");
  SendText("third");
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(b.Wait()->wr_id, i);
  EXPECT_EQ(b.Text(0, 5), "first");
  EXPECT_EQ(b.Text(100, 6), "second");
  EXPECT_EQ(b.Text(200, 5), "third");
}

TEST_F(PostRecvTest, AMessageIsScattered) {
  Connect();
  ibv_sge list[] = {b.Sge(0, 3), b.Sge(1000, 3), b.Sge(2000, 10)};
  ibv_recv_wr wr{.wr_id = 1, .next = nullptr, .sg_list = list, .num_sge = 3};
  ibv_recv_wr* refused = nullptr;
  ASSERT_EQ(ibv_post_recv(qb, &wr, &refused), 0);
  SendText("abcdefghij");
  EXPECT_EQ(b.Wait()->byte_len, 10U);
  EXPECT_EQ(b.Text(0, 3) + b.Text(1000, 3) + b.Text(2000, 4), "abcdefghij");
}

TEST_F(PostRecvTest, ReportsWhichRequestWasRefused) {
  ibv_qp* const qp = a.MakeQp({.depth = 2, .sges = 1});
  ibv_recv_wr chain[3] = {};
  for (int i = 0; i < 2; ++i) chain[i].next = &chain[i + 1];
  ibv_recv_wr* refused = nullptr;
  EXPECT_EQ(ibv_post_recv(qp, chain, &refused), EINVAL);  // in RESET
  EXPECT_EQ(refused, chain);
  ASSERT_EQ(a.ToInit(qp), 0);
  EXPECT_EQ(ibv_post_recv(qp, chain, &refused), ENOMEM);
  EXPECT_EQ(refused, &chain[2]);
  for (const int count : {2, -1, 1'000}) {
    ibv_sge list[] = {a.Sge(0, 1), a.Sge(1, 1)};
    ibv_recv_wr wr{.wr_id = 1, .next = nullptr, .sg_list = list, .num_sge = count};
    EXPECT_EQ(ibv_post_recv(qp, &wr, &refused), EINVAL);
    EXPECT_EQ(refused, &wr);
  }
}

TEST_F(PostRecvTest, ASharedQueueIsPostedToByItself) {
  ibv_srq_init_attr wish{.srq_context = nullptr,
                         .attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0}};
  ibv_srq* const srq = ibv_create_srq(b.pd, &wish);
  ASSERT_NE(srq, nullptr);
  qa = a.MakeQp();
  qb = b.MakeQp({.srq = srq});
  a.Start(qa, qb->qp_num);
  b.Start(qb, qa->qp_num);
  EXPECT_EQ(b.Receive(qb, 0, 8), EINVAL);
  ibv_sge sge = b.Sge(300, 8);
  ibv_recv_wr wr{.wr_id = 12, .next = nullptr, .sg_list = &sge, .num_sge = 1};
  ibv_recv_wr* refused = nullptr;
  ASSERT_EQ(ibv_post_srq_recv(srq, &wr, &refused), 0);
  SendText("shared");
  EXPECT_EQ(b.Wait()->wr_id, 12U);
  EXPECT_EQ(b.Text(300, 6), "shared");
  ASSERT_EQ(b.EndQp(qb), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
