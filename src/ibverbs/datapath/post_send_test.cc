#include <infiniband/verbs.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ibverbs/datapath/post.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsPairTest;

class PostSendTest : public VerbsPairTest {
 protected:
  // Posts the requests as one chain. Returns the index of the one that was refused, or -1.
  int PostChain(std::vector<ibv_send_wr>& chain, int& error) const {
    for (size_t i = 0; i + 1 < chain.size(); ++i) chain[i].next = &chain[i + 1];
    ibv_send_wr* refused = nullptr;
    error = ibv_post_send(qa, chain.data(), &refused);
    return refused == nullptr ? -1 : static_cast<int>(refused - chain.data());
  }
  uint64_t& Word(testing::VerbsEnd& end, size_t index) const {
    return reinterpret_cast<uint64_t*>(end.bytes.data())[index];
  }
};

TEST_F(PostSendTest, AWriteArrives) {
  Connect();
  a.Fill(0, "written");
  ibv_sge sge = a.Sge(0, 7);
  ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, &sge);
  wr.wr.rdma.remote_addr += 100;
  ASSERT_EQ(a.Post(qa, wr), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(100, 7), "written");
}

TEST_F(PostSendTest, AReadReturnsTheRemoteBytes) {
  Connect();
  b.Fill(0, "to be read");
  ibv_sge sge = a.Sge(500, 10);
  ibv_send_wr wr = Request(IBV_WR_RDMA_READ, &sge);
  ASSERT_EQ(a.Post(qa, wr), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(a.Text(500, 10), "to be read");
}

TEST_F(PostSendTest, AtomicsAreAtomic) {
  Connect();
  Word(b, 0) = 40;
  ibv_sge sge = a.Sge(8, 8);
  ibv_send_wr wr = Request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
  wr.wr.atomic = {.remote_addr = reinterpret_cast<uint64_t>(b.bytes.data()),
                  .compare_add = 2,
                  .swap = 0,
                  .rkey = b.mr->rkey};
  ASSERT_EQ(a.Post(qa, wr), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(Word(a, 1), 40U);
  EXPECT_EQ(Word(b, 0), 42U);
  wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  wr.wr.atomic.compare_add = 42;
  wr.wr.atomic.swap = 7;
  ASSERT_EQ(a.Post(qa, wr), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(Word(a, 1), 42U);
  EXPECT_EQ(Word(b, 0), 7U);
  Word(a, 1) = 99;
  wr = Request(IBV_WR_ATOMIC_WRITE, &sge);
  ASSERT_EQ(a.Post(qa, wr), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(Word(b, 0), 99U);
}

TEST_F(PostSendTest, InlineDataIsCopiedAtOnceAndNeedsNoKey) {
  Connect();
  ASSERT_EQ(b.Receive(qb, 0, 64), 0);
  char here[] = "inline";
  ibv_sge sge{.addr = reinterpret_cast<uint64_t>(here), .length = 6, .lkey = 0};
  ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
  wr.send_flags |= IBV_SEND_INLINE;
  ASSERT_EQ(a.Post(qa, wr), 0);
  std::memset(here, 'x', sizeof here);
  EXPECT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(0, 6), "inline");
}

TEST_F(PostSendTest, MoreInlineDataThanTheLimitIsRefused) {
  Connect({.inline_bytes = 16});
  ibv_sge sge = a.Sge(0, 17);
  ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, &sge);
  wr.send_flags |= IBV_SEND_INLINE;
  ibv_send_wr* refused = nullptr;
  EXPECT_EQ(ibv_post_send(qa, &wr, &refused), EINVAL);
  EXPECT_EQ(refused, &wr);
  sge.length = 16;
  EXPECT_EQ(a.Post(qa, wr), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
}

TEST_F(PostSendTest, SeveralElementsAreGathered) {
  Connect();
  a.Fill(0, "one");
  a.Fill(1000, "two");
  a.Fill(5000, "three");
  ibv_sge list[] = {a.Sge(0, 3), a.Sge(1000, 3), a.Sge(5000, 5)};
  ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, list);
  wr.num_sge = 3;
  ASSERT_EQ(a.Post(qa, wr), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(0, 11), "onetwothree");
}

TEST_F(PostSendTest, TooManyElementsAreRefused) {
  Connect({.sges = 2});
  ibv_sge list[] = {a.Sge(0, 1), a.Sge(1, 1), a.Sge(2, 1)};
  ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, list);
  for (const int count : {3, 1'000, -1}) {
    wr.num_sge = count;
    EXPECT_EQ(a.Post(qa, wr), EINVAL);
  }
  wr.num_sge = 2;
  EXPECT_EQ(a.Post(qa, wr), 0);
}

TEST_F(PostSendTest, OperationsOfOtherTypesAreRefused) {
  Connect({.type = IBV_QPT_UC});
  ibv_sge sge = a.Sge(0, 8);
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_TSO,
                                     IBV_WR_SEND_WITH_INV, static_cast<ibv_wr_opcode>(13)}) {
    ibv_send_wr wr = Request(opcode, &sge);
    EXPECT_EQ(a.Post(qa, wr), EINVAL) << opcode;
  }
  ibv_qp* const datagrams = a.MakeQp({.type = IBV_QPT_UD});
  a.Start(datagrams, 0);
  ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, &sge);
  EXPECT_EQ(a.Post(datagrams, wr), EINVAL);
}

TEST_F(PostSendTest, PostsBeforeRtsAreRefused) {
  ibv_qp* const qp = a.MakeQp();
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
  EXPECT_EQ(a.Post(qp, wr), EINVAL);
  ASSERT_EQ(a.ToInit(qp), 0);
  EXPECT_EQ(a.Post(qp, wr), EINVAL);
}

TEST_F(PostSendTest, OnlySignaledRequestsComplete) {
  Connect();
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr quiet = Request(IBV_WR_RDMA_WRITE, &sge, 1);
  quiet.send_flags = 0;
  ibv_send_wr loud = Request(IBV_WR_RDMA_WRITE, &sge, 2);
  ASSERT_EQ(a.Post(qa, quiet), 0);
  ASSERT_EQ(a.Post(qa, loud), 0);
  EXPECT_EQ(a.Wait()->wr_id, 2U);
}

TEST_F(PostSendTest, AllRequestsCompleteWithSqSigAll) {
  Connect({.sq_sig_all = 1});
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr quiet = Request(IBV_WR_RDMA_WRITE, &sge, 1);
  quiet.send_flags = 0;
  ASSERT_EQ(a.Post(qa, quiet), 0);
  EXPECT_EQ(a.Wait()->wr_id, 1U);
}

TEST_F(PostSendTest, AChainGoesInOrder) {
  Connect();
  ibv_sge sge = a.Sge(0, 8);
  std::vector<ibv_send_wr> chain;
  for (uint64_t id = 0; id < 2 * kChainBatch + 3; ++id) {
    chain.push_back(Request(IBV_WR_RDMA_WRITE, &sge, id));
  }
  int error = 0;
  EXPECT_EQ(PostChain(chain, error), -1);
  EXPECT_EQ(error, 0);
  for (uint64_t id = 0; id < chain.size(); ++id) {
    const auto wc = a.Wait();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, id);
  }
}

TEST_F(PostSendTest, AChainStopsAtTheFirstThatIsRefused) {
  Connect();
  ibv_sge sge = a.Sge(0, 8);
  for (const size_t wrong : {size_t{0}, size_t{3}, kChainBatch - 1, kChainBatch, 2 * kChainBatch}) {
    std::vector<ibv_send_wr> chain;
    for (uint64_t id = 0; id <= 2 * kChainBatch; ++id) {
      chain.push_back(Request(IBV_WR_RDMA_WRITE, &sge, id));
    }
    chain[wrong].opcode = IBV_WR_TSO;
    int error = 0;
    EXPECT_EQ(PostChain(chain, error), static_cast<int>(wrong));
    EXPECT_EQ(error, EINVAL);
    for (uint64_t id = 0; id < wrong; ++id) EXPECT_EQ(a.Wait()->wr_id, id);
  }
}

TEST_F(PostSendTest, AFullQueueTakesNoMore) {
  Connect({.depth = 4});
  // No peer acknowledges, so the requests stay outstanding.
  ASSERT_EQ(b.EndQp(qb), 0);
  ibv_sge sge = a.Sge(0, 8);
  std::vector<ibv_send_wr> chain(6, Request(IBV_WR_RDMA_WRITE, &sge));
  int error = 0;
  EXPECT_EQ(PostChain(chain, error), 4);
  EXPECT_EQ(error, ENOMEM);
}

class PostSendThreadsTest : public PostSendTest {
 protected:
  // Posts as soon as there is room, while another thread makes the adapter's progress.
  void FillRepeatedly(ibv_qp_type type) {
    Connect({.type = type, .depth = 1});
    ibv_cq* const other = ibv_create_cq(a.context, 1, nullptr, nullptr, 0);
    std::atomic<bool> ends = false;
    std::thread worker([&] {
      ibv_wc none;
      while (!ends) (void)ibv_poll_cq(other, 1, &none);
    });
    ibv_sge sge = a.Sge(0, 8);
    ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, &sge);
    int refused = 0;
    for (int i = 0; i < 3'000 && refused == 0; ++i) {
      refused = a.Post(qa, wr);
      if (refused == 0) {
        EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
      }
    }
    EXPECT_EQ(refused, 0);
    ends = true;
    worker.join();
    EXPECT_EQ(ibv_destroy_cq(other), 0);
  }
};

TEST_F(PostSendThreadsTest, APolledCompletionLeavesRoomForTheNextRequest) {
  FillRepeatedly(IBV_QPT_RC);
}

TEST_F(PostSendThreadsTest, APolledCompletionOfAnUnreliableConnectionLeavesRoom) {
  FillRepeatedly(IBV_QPT_UC);
}

}  // namespace
}  // namespace verbena::ibverbs
