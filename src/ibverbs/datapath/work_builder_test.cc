#include "ibverbs/datapath/work_builder.h"

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ibverbs/datapath/send_ops.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsPairTest;
using testing::VerbsQp;

class WorkBuilderTest : public VerbsPairTest {
 protected:
  void Begin(const VerbsQp& wish = {}) {
    VerbsQp extended = wish;
    extended.send_ops = SendOpsOf(wish.type);
    Connect(extended);
    qx = ibv_qp_to_qp_ex(qa);
    ASSERT_NE(qx, nullptr);
    qx->wr_flags = IBV_SEND_SIGNALED;
  }
  uint64_t Remote(size_t offset = 0) const {
    return reinterpret_cast<uint64_t>(b.bytes.data()) + offset;
  }
  uint64_t Local(size_t offset = 0) const {
    return reinterpret_cast<uint64_t>(a.bytes.data()) + offset;
  }
  uint64_t& Word(testing::VerbsEnd& end, size_t index) const {
    return reinterpret_cast<uint64_t*>(end.bytes.data())[index];
  }

  ibv_qp_ex* qx = nullptr;
};

TEST_F(WorkBuilderTest, SeveralRequestsGoTogether) {
  Begin();
  a.Fill(0, "written");
  b.Fill(100, "to read");
  ASSERT_EQ(b.Receive(qb, 200, 64), 0);
  ibv_wr_start(qx);
  qx->wr_id = 1;
  ibv_wr_rdma_write(qx, b.mr->rkey, Remote());
  ibv_wr_set_sge(qx, a.mr->lkey, Local(), 7);
  qx->wr_id = 2;
  ibv_wr_rdma_read(qx, b.mr->rkey, Remote(100));
  ibv_wr_set_sge(qx, a.mr->lkey, Local(500), 7);
  qx->wr_id = 3;
  ibv_wr_send_imm(qx, 0x77);
  const ibv_sge list[] = {a.Sge(0, 3), a.Sge(3, 4)};
  ibv_wr_set_sge_list(qx, 2, list);
  ASSERT_EQ(ibv_wr_complete(qx), 0);
  for (uint64_t id = 1; id <= 3; ++id) {
    const auto wc = a.Wait();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc->wr_id, id);
  }
  const auto wc = b.Wait();
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->imm_data, 0x77U);
  EXPECT_EQ(b.Text(0, 7), "written");
  EXPECT_EQ(a.Text(500, 7), "to read");
  EXPECT_EQ(b.Text(200, 7), "written");
}

TEST_F(WorkBuilderTest, InlineDataIsCopiedAtOnce) {
  Begin();
  ASSERT_EQ(b.Receive(qb, 0, 64), 0);
  ASSERT_EQ(b.Receive(qb, 64, 64), 0);
  char one[] = "one";
  char two[] = "two";
  ibv_wr_start(qx);
  ibv_wr_send(qx);
  ibv_wr_set_inline_data(qx, one, 3);
  ibv_wr_send(qx);
  const ibv_data_buf list[] = {{two, 3}, {one, 3}};
  ibv_wr_set_inline_data_list(qx, 2, list);
  std::memset(one, 'x', 3);
  std::memset(two, 'x', 3);
  ASSERT_EQ(ibv_wr_complete(qx), 0);
  EXPECT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(0, 3), "one");
  EXPECT_EQ(b.Text(64, 6), "twoone");
}

TEST_F(WorkBuilderTest, AtomicsAreAtomic) {
  Begin({.inline_bytes = 0});
  Word(b, 0) = 5;
  ibv_wr_start(qx);
  ibv_wr_atomic_fetch_add(qx, b.mr->rkey, Remote(), 2);
  ibv_wr_set_sge(qx, a.mr->lkey, Local(8), 8);
  ibv_wr_atomic_cmp_swp(qx, b.mr->rkey, Remote(), 7, 100);
  ibv_wr_set_sge(qx, a.mr->lkey, Local(16), 8);
  const uint64_t value = 42;
  ibv_wr_atomic_write(qx, b.mr->rkey, Remote(64), &value);
  ASSERT_EQ(ibv_wr_complete(qx), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(Word(a, 1), 5U);
  EXPECT_EQ(Word(a, 2), 7U);
  EXPECT_EQ(Word(b, 0), 100U);
  EXPECT_EQ(Word(b, 8), 42U);
}

TEST_F(WorkBuilderTest, WindowsAreBoundAndInvalidated) {
  Begin();
  ibv_mw* const window = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
  const uint32_t first = ibv_inc_rkey(window->rkey);
  const uint32_t second = ibv_inc_rkey(first);
  const ibv_mw_bind_info info{
      .mr = a.mr, .addr = Local(), .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_READ};
  ibv_wr_start(qx);
  ibv_wr_bind_mw(qx, window, first, &info);
  ibv_wr_local_inv(qx, first);
  ibv_wr_bind_mw(qx, window, second, &info);
  ASSERT_EQ(ibv_wr_complete(qx), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  // The index in the key is ignored, so this binds the same window, which is bound already.
  ibv_wr_start(qx);
  ibv_wr_bind_mw(qx, window, second ^ 0x100, &info);
  ASSERT_EQ(ibv_wr_complete(qx), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(WorkBuilderTest, APeersKeyIsInvalidated) {
  Begin();
  ASSERT_EQ(b.Receive(qb, 0, 64), 0);
  ibv_wr_start(qx);
  ibv_wr_send_inv(qx, 0x1234);  // not a key of b
  ibv_wr_set_sge(qx, a.mr->lkey, Local(), 8);
  ASSERT_EQ(ibv_wr_complete(qx), 0);
  EXPECT_NE(a.WaitStatus(), IBV_WC_SUCCESS);
}

TEST_F(WorkBuilderTest, DatagramsNeedADestination) {
  Begin({.type = IBV_QPT_UD});
  ASSERT_EQ(b.Receive(qb, 0, 128), 0);
  a.Fill(0, "datagram");
  ibv_wr_start(qx);
  ibv_wr_send(qx);
  ibv_wr_set_ud_addr(qx, a.MakeAh(), 0xDE000000 | qb->qp_num, a.kQKey);  // only 24 bits are used
  ibv_wr_set_sge(qx, a.mr->lkey, Local(), 8);
  ASSERT_EQ(ibv_wr_complete(qx), 0);
  EXPECT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(40, 8), "datagram");
  ibv_wr_start(qx);
  ibv_wr_send(qx);
  ibv_wr_set_sge(qx, a.mr->lkey, Local(), 8);
  EXPECT_EQ(ibv_wr_complete(qx), EINVAL);  // no address was set
}

TEST_F(WorkBuilderTest, AllOrNone) {
  Begin({.sges = 1});
  ibv_wr_start(qx);
  qx->wr_id = 1;
  ibv_wr_rdma_write(qx, b.mr->rkey, Remote());
  ibv_wr_set_sge(qx, a.mr->lkey, Local(), 8);
  ibv_wr_rdma_write(qx, b.mr->rkey, Remote());
  const ibv_sge list[] = {a.Sge(0, 3), a.Sge(3, 4)};
  ibv_wr_set_sge_list(qx, 2, list);
  EXPECT_EQ(ibv_wr_complete(qx), EINVAL);
  ibv_wr_start(qx);
  qx->wr_id = 2;
  ibv_wr_rdma_write(qx, b.mr->rkey, Remote());
  ibv_wr_set_sge(qx, a.mr->lkey, Local(), 8);
  ASSERT_EQ(ibv_wr_complete(qx), 0);
  EXPECT_EQ(a.Wait()->wr_id, 2U);
}

TEST_F(WorkBuilderTest, AbortDropsAllRequests) {
  Begin();
  ibv_wr_start(qx);
  ibv_wr_rdma_write(qx, b.mr->rkey, Remote());
  ibv_wr_set_sge(qx, a.mr->lkey, Local(), 8);
  ibv_wr_abort(qx);
  ibv_wr_start(qx);
  EXPECT_EQ(ibv_wr_complete(qx), 0);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(a.cq, 1, &wc), 0);
}

TEST_F(WorkBuilderTest, ExceedingALimitIsReported) {
  Begin({.depth = 2, .inline_bytes = 8});
  ibv_wr_start(qx);
  for (int i = 0; i < 3; ++i) {
    ibv_wr_rdma_write(qx, b.mr->rkey, Remote());
    ibv_wr_set_sge(qx, a.mr->lkey, Local(), 8);
  }
  EXPECT_EQ(ibv_wr_complete(qx), ENOMEM);
  char bytes[64] = {};
  ibv_wr_start(qx);
  ibv_wr_rdma_write(qx, b.mr->rkey, Remote());
  ibv_wr_set_inline_data(qx, bytes, sizeof bytes);
  EXPECT_EQ(ibv_wr_complete(qx), EINVAL);
  ibv_wr_start(qx);
  ibv_wr_set_sge(qx, a.mr->lkey, Local(), 8);  // without a request
  EXPECT_EQ(ibv_wr_complete(qx), EINVAL);
}

class WorkBuilderThreadsTest : public WorkBuilderTest {};

TEST_F(WorkBuilderThreadsTest, EachThreadsRequestsStayTogether) {
  Begin({.depth = 64});
  constexpr uint64_t kThreads = 4;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (uint64_t i = 0; i < 4; ++i) {
        ibv_wr_start(qx);
        for (uint64_t half = 0; half < 2; ++half) {
          qx->wr_id = t;
          ibv_wr_rdma_write(qx, b.mr->rkey, Remote());
          ibv_wr_set_sge(qx, a.mr->lkey, Local(), 8);
        }
        EXPECT_EQ(ibv_wr_complete(qx), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t i = 0; i < kThreads * 4; ++i) {
    const auto first = a.Wait();
    const auto second = a.Wait();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->wr_id, second->wr_id);
  }
}

}  // namespace
}  // namespace verbena::ibverbs
