#include "ibverbs/datapath/bind.h"

#include <cerrno>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsPairTest;

// b binds windows, a reads through them.
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
  void Invalidate(uint32_t key) {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.invalidate_rkey = key;
    ASSERT_EQ(b.Post(qb, wr), 0);
    ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  }
  // The completion status when a reads 8 bytes at `offset` of b.
  int Read(size_t offset, uint32_t key) {
    ibv_sge sge = a.Sge(1'000, 8);
    ibv_send_wr wr = Request(IBV_WR_RDMA_READ, &sge);
    wr.wr.rdma = {.remote_addr = reinterpret_cast<uint64_t>(b.bytes.data()) + offset, .rkey = key};
    EXPECT_EQ(a.Post(qa, wr), 0);
    return a.WaitStatus();
  }
};

TEST_F(BindTest, AType2WindowIsBoundAndInvalidated) {
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

// ibv_post_send(3): the program chooses the low 8 bits of the key, and the index is the window's.
// Programs pass these bits alone, with the index, or with anything in the other bits.
TEST_F(BindTest, TheProgramChoosesTheVariantOfTheKeyOnly) {
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  ASSERT_NE(window, nullptr);
  const uint32_t index = window->rkey & ~0xFFU;
  for (const uint32_t wanted : {0x17U, index | 0x18U, 0xDEADBE00U | 0x19U, index | 0x19U}) {
    ibv_send_wr bind = BindOf(window, wanted, Info(512, 8));
    ASSERT_EQ(b.Post(qb, bind), 0);
    ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
    EXPECT_EQ(window->rkey, index | (wanted & 0xFF));
    EXPECT_EQ(Read(512, window->rkey), IBV_WC_SUCCESS);
    Invalidate(window->rkey);
  }
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(BindTest, AnExtendedQueuePairBindsTheSame) {
  ibv_qp* const extended =
      b.MakeQp({.send_ops = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV});
  ibv_qp* const peer = a.MakeQp();
  b.Start(extended, peer->qp_num);
  a.Start(peer, extended->qp_num);
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  const uint32_t index = window->rkey & ~0xFFU;
  ibv_qp_ex* const ex = ibv_qp_to_qp_ex(extended);
  const ibv_mw_bind_info info = Info(0, 8);
  // Two binds in one chain: the second does not depend on the key that the first sets.
  ibv_wr_start(ex);
  ex->wr_flags = 0;
  ibv_wr_bind_mw(ex, window, 0x21, &info);
  ibv_wr_local_inv(ex, index | 0x21);
  ex->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_bind_mw(ex, window, 0x21, &info);
  ASSERT_EQ(ibv_wr_complete(ex), 0);
  EXPECT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(window->rkey, index | 0x21);
  // An aborted bind leaves the key alone.
  ibv_wr_start(ex);
  ibv_wr_bind_mw(ex, window, 0x22, &info);
  ibv_wr_abort(ex);
  EXPECT_EQ(window->rkey, index | 0x21);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

// As in Soft-RoCE, which dropped the check that a bind changes the variant.
TEST_F(BindTest, AWindowMayBeBoundToTheKeyThatItHas) {
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  const uint32_t key = window->rkey;
  for (int i = 0; i < 2; ++i) {
    ibv_send_wr bind = BindOf(window, key, Info(512, 8));
    ASSERT_EQ(b.Post(qb, bind), 0);
    ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
    EXPECT_EQ(Read(512, key), IBV_WC_SUCCESS);
    Invalidate(key);
  }
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

// Some providers set ibv_mw::rkey (irdma), others leave it to the program (mlx5, rxe), which then
// stores the key that it asked for, in whole or in part, before or after it posts. A program whose
// bind fails restores the old key (ibv_bind_mw(3)). In all cases the next bind must work.
TEST_F(BindTest, TheNextBindWorksWhateverTheProgramStoresInRkey) {
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  const uint32_t first = window->rkey;
  void (*const stores[])(ibv_mw*, uint32_t, uint32_t) = {
      [](ibv_mw*, uint32_t, uint32_t) {},
      [](ibv_mw* mw, uint32_t, uint32_t asked) { mw->rkey = asked; },
      [](ibv_mw* mw, uint32_t, uint32_t asked) { mw->rkey = asked & 0xFF; },
      [](ibv_mw* mw, uint32_t before, uint32_t) { mw->rkey = before; },
      [](ibv_mw* mw, uint32_t, uint32_t) { mw->rkey = ibv_inc_rkey(mw->rkey); },
  };
  for (const auto store : stores) {
    const uint32_t before = window->rkey;
    const uint32_t asked = ibv_inc_rkey((first & ~0xFFU) | (before & 0xFF));
    ibv_send_wr bind = BindOf(window, asked, Info(512, 8));
    ASSERT_EQ(b.Post(qb, bind), 0);
    store(window, before, asked);
    ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
    EXPECT_EQ(Read(512, asked), IBV_WC_SUCCESS);
    Invalidate(asked);
  }
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

// A bind that a queue pair in the error state flushes binds nothing, and another queue pair can
// bind the window afterwards.
TEST_F(BindTest, AFlushedBindDoesNotPreventTheNext) {
  for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
    ibv_qp* const broken = b.MakeQp();
    ASSERT_EQ(b.ToInit(broken), 0);
    ASSERT_EQ(b.ToRtr(broken, 1), 0);
    ASSERT_EQ(b.ToRts(broken), 0);
    ASSERT_EQ(b.ToState(broken, IBV_QPS_ERR), 0);
    ibv_mw* const window = ibv_alloc_mw(b.pd, type);
    const auto bind = [&](ibv_qp* qp) {
      if (type == IBV_MW_TYPE_1) {
        ibv_mw_bind one{.wr_id = 0, .send_flags = IBV_SEND_SIGNALED, .bind_info = Info(512, 8)};
        return ibv_bind_mw(qp, window, &one);
      }
      ibv_send_wr wr = BindOf(window, ibv_inc_rkey(window->rkey), Info(512, 8));
      return b.Post(qp, wr);
    };
    ASSERT_EQ(bind(broken), 0);
    EXPECT_EQ(b.WaitStatus(), IBV_WC_WR_FLUSH_ERR);
    ASSERT_EQ(bind(qb), 0);
    EXPECT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
    EXPECT_EQ(Read(512, window->rkey), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
  }
}

TEST_F(BindTest, APeerMayInvalidateAWindow) {
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

TEST_F(BindTest, AType1WindowIsBoundByIbvBindMw) {
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
  // Rebound to another range without an unbind, and then unbound.
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

TEST_F(BindTest, InvalidBindsAreRefused) {
  ibv_mw* const one = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
  ibv_mw* const two = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(two->rkey);
  ibv_send_wr wr = BindOf(one, ibv_inc_rkey(one->rkey), Info(0, 8));
  EXPECT_EQ(b.Post(qb, wr), EINVAL);  // of type 1
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

TEST_F(BindTest, ARegionWithABoundWindowCannotBeDeregistered) {
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  ibv_send_wr bind = BindOf(window, ibv_inc_rkey(window->rkey), Info(0, 8));
  ASSERT_EQ(b.Post(qb, bind), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(b.mr), EBUSY);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

// A base class, so that the variable is set before the ends open their devices.
struct WindowsOnlySetting {
  WindowsOnlySetting() { setenv("VERBENA_WINDOWS_ONLY", "1", 1); }
  ~WindowsOnlySetting() { unsetenv("VERBENA_WINDOWS_ONLY"); }
};
struct OneTouchSetting {
  OneTouchSetting() { setenv("VERBENA_ONE_TOUCH_WINDOWS", "1", 1); }
  ~OneTouchSetting() { unsetenv("VERBENA_ONE_TOUCH_WINDOWS"); }
};
class OneTouchWindowsTest : private OneTouchSetting, public BindTest {};

// Row A5.
TEST_F(OneTouchWindowsTest, AWindowEndsWithTheFirstMessageAndCanBeBoundAgain) {
  ibv_mw* const two = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  ibv_send_wr bind = BindOf(two, ibv_inc_rkey(two->rkey), Info(512, 8));
  ASSERT_EQ(b.Post(qb, bind), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(Read(512, two->rkey), IBV_WC_SUCCESS);
  bind = BindOf(two, ibv_inc_rkey(two->rkey), Info(512, 8));
  ASSERT_EQ(b.Post(qb, bind), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(Read(512, two->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(Read(512, two->rkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dealloc_mw(two), 0);
}

TEST_F(OneTouchWindowsTest, NothingIsLeftToInvalidate) {
  ibv_mw* const two = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  ibv_send_wr bind = BindOf(two, ibv_inc_rkey(two->rkey), Info(512, 8));
  ASSERT_EQ(b.Post(qb, bind), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(Read(512, two->rkey), IBV_WC_SUCCESS);
  ibv_send_wr invalidate{};
  invalidate.opcode = IBV_WR_LOCAL_INV;
  invalidate.invalidate_rkey = two->rkey;
  ASSERT_EQ(b.Post(qb, invalidate), 0);
  EXPECT_EQ(b.WaitStatus(), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(ibv_dealloc_mw(two), 0);
}

TEST_F(OneTouchWindowsTest, SoDoesAType1Window) {
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
  ibv_mw_bind bind{.wr_id = 1, .send_flags = IBV_SEND_SIGNALED, .bind_info = Info(100, 50)};
  ASSERT_EQ(ibv_bind_mw(qb, window, &bind), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(Read(100, window->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(Read(100, window->rkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

class WindowsOnlyTest : private WindowsOnlySetting, public BindTest {};

TEST_F(WindowsOnlyTest, APeerReachesMemoryThroughAWindowAndNotThroughItsRegion) {
  ibv_mw* const window = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  ASSERT_NE(window, nullptr);
  const uint32_t key = ibv_inc_rkey(window->rkey);
  ibv_send_wr bind = BindOf(window, key, Info(512, 8));
  ASSERT_EQ(b.Post(qb, bind), 0);
  ASSERT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(Read(512, key), IBV_WC_SUCCESS);
  ibv_sge sge = a.Sge(1'000, 8);
  ibv_send_wr read = Request(IBV_WR_RDMA_READ, &sge);
  read.wr.rdma = {.remote_addr = reinterpret_cast<uint64_t>(b.bytes.data()) + 512,
                  .rkey = b.mr->rkey};
  ASSERT_EQ(a.Post(qa, read), 0);
  const auto refused = a.Wait();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(refused->vendor_err, 'b') << "the check that refused";
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
