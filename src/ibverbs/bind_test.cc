#include "ibverbs/bind.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsPairTest;

// b opens windows, a looks through them.
class BindTest : public VerbsPairTest {
 protected:
  void SetUp() override { Connect(); }

  ibv_mw_bind_info Info(size_t offset, uint64_t length) const {
    return {.mr = b.mr,
            .addr = reinterpret_cast<uint64_t>(b.bytes.data()) + offset,
            .length = length,
            .mw_access_flags = IBV_ACCESS_REMOTE_READ};
  }
  ibv_send_wr BindOf(ibv_mw* window, uint32_t key, const ibv_mw_bind_info& info) const {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw = {.mw = window, .rkey = key, .bind_info = info};
    return wr;
  }
  // What a gets when it reads 8 bytes there.
  int Read(size_t offset, uint32_t key) {
    ibv_sge sge = a.Sge(1'000, 8);
    ibv_send_wr wr = Request(IBV_WR_RDMA_READ, &sge);
    wr.wr.rdma = {.remote_addr = reinterpret_cast<uint64_t>(b.bytes.data()) + offset, .rkey = key};
    EXPECT_EQ(a.Post(qa, wr), 0);
    return a.WaitStatus();
  }
};

TEST_F(BindTest, AWindowOfType2OpensAndCloses) {
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  ASSERT_NE(window, nullptr);
  b.Fill(512, "window");
  uint32_t key = window->rkey;
  for (int i = 0; i < 3; ++i) {
    key = ibv_inc_rkey(key);
    ibv_send_wr bind = BindOf(window, key, Info(512, 8));
    ASSERT_EQ(b.Post(qb, bind), 0);
    const auto bound = b.Wait();
    ASSERT_TRUE(bound);
    EXPECT_EQ(bound->status, IBV_WC_SUCCESS);
    EXPECT_EQ(bound->opcode, IBV_WC_BIND_MW);
    EXPECT_EQ(Read(512, key), IBV_WC_SUCCESS);
    EXPECT_EQ(a.Text(1'000, 6), "window");
    ibv_send_wr invalidate{};
    invalidate.opcode = IBV_WR_LOCAL_INV;
    invalidate.send_flags = IBV_SEND_SIGNALED;
    invalidate.invalidate_rkey = key;
    ASSERT_EQ(b.Post(qb, invalidate), 0);
    const auto ended = b.Wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->status, IBV_WC_SUCCESS);
    EXPECT_EQ(ended->opcode, IBV_WC_LOCAL_INV);
  }
  EXPECT_EQ(Read(512, key), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(BindTest, APeerMayCloseAWindow) {
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(window->rkey);
  ibv_send_wr bind = BindOf(window, key, Info(0, 8));
  ASSERT_EQ(b.Post(qb, bind), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  ASSERT_EQ(b.Receive(qb, 0, 8), 0);
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr wr = Request(IBV_WR_SEND_WITH_INV, &sge);
  wr.invalidate_rkey = key;
  ASSERT_EQ(a.Post(qa, wr), 0);
  ASSERT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  const auto wc = b.Wait();
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->wc_flags, unsigned{IBV_WC_WITH_INV});
  EXPECT_EQ(wc->invalidated_rkey, key);
  EXPECT_EQ(Read(0, key), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(BindTest, AWindowOfType1IsBoundByACall) {
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
  ASSERT_NE(window, nullptr);
  const uint32_t before = window->rkey;
  ibv_mw_bind bind{.wr_id = 9, .send_flags = IBV_SEND_SIGNALED, .bind_info = Info(0, 16)};
  ASSERT_EQ(ibv_bind_mw(qb, window, &bind), 0);
  EXPECT_NE(window->rkey, before);
  const auto wc = b.Wait();
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->wr_id, 9U);
  EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc->opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(Read(8, window->rkey), IBV_WC_SUCCESS);
  // Bound to something else at once, and then to nothing.
  const uint32_t first = window->rkey;
  bind.bind_info = Info(100, 16);
  ASSERT_EQ(ibv_bind_mw(qb, window, &bind), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_NE(window->rkey, first);
  EXPECT_EQ(Read(100, window->rkey), IBV_WC_SUCCESS);
  bind.bind_info = {};
  ASSERT_EQ(ibv_bind_mw(qb, window, &bind), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(Read(100, window->rkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(BindTest, WhatIsNotABindIsRefused) {
  ibv_mw* const one = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
  ibv_mw* const two = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(two->rkey);
  ibv_send_wr wr = BindOf(one, ibv_inc_rkey(one->rkey), Info(0, 8));
  EXPECT_EQ(b.Post(qb, wr), EINVAL);  // of type 1
  wr = BindOf(two, key ^ 0x100, Info(0, 8));
  EXPECT_EQ(b.Post(qb, wr), EINVAL);  // another window's key
  ibv_mw_bind_info info = Info(0, 8);
  info.mr = nullptr;
  wr = BindOf(two, key, info);
  EXPECT_EQ(b.Post(qb, wr), EINVAL);
  info = Info(0, 8);
  info.mw_access_flags = IBV_ACCESS_MW_BIND;
  wr = BindOf(two, key, info);
  EXPECT_EQ(b.Post(qb, wr), EINVAL);
  ibv_pd* const other = ibv_alloc_pd(b.context);
  ibv_mw* const foreign = ibv_alloc_mw(other, IBV_MW_TYPE_2);
  wr = BindOf(foreign, ibv_inc_rkey(foreign->rkey), Info(0, 8));
  EXPECT_EQ(b.Post(qb, wr), EPERM);
  ibv_mw_bind bind{.wr_id = 9, .send_flags = 0, .bind_info = Info(0, 16)};
  EXPECT_EQ(ibv_bind_mw(qb, two, &bind), EINVAL);
  EXPECT_EQ(ibv_dealloc_mw(foreign), 0);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
  EXPECT_EQ(ibv_dealloc_mw(one), 0);
  EXPECT_EQ(ibv_dealloc_mw(two), 0);
}

TEST_F(BindTest, ARegionCannotEndWhileAWindowIsBoundToIt) {
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  ibv_send_wr bind = BindOf(window, ibv_inc_rkey(window->rkey), Info(0, 8));
  ASSERT_EQ(b.Post(qb, bind), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(b.mr), EBUSY);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
