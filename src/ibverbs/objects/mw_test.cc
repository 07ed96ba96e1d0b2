#include <infiniband/verbs.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

class MwTest : public testing::VerbsPairTest {
 protected:
  void SetUp() override { Connect(); }

  // Binds a window of b to the first 64 bytes of b, and returns the key.
  uint32_t Bind(ibv_mw* mw) {
    ibv_send_wr bind{};
    bind.opcode = IBV_WR_BIND_MW;
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_mw.mw = mw;
    bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
    bind.bind_mw.bind_info = {.mr = b.mr,
                              .addr = reinterpret_cast<uint64_t>(b.bytes.data()),
                              .length = 64,
                              .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    EXPECT_EQ(b.Post(qb, bind), 0);
    EXPECT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
    return bind.bind_mw.rkey;
  }
  int Write(uint32_t rkey) {
    ibv_sge sge = a.Sge(0, 5);
    ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, &sge);
    write.wr.rdma.rkey = rkey;
    EXPECT_EQ(a.Post(qa, write), 0);
    return a.WaitStatus();
  }
};

TEST_F(MwTest, HasTheFieldsOfTheVerbs) {
  for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
    ibv_mw* const mw = ibv_alloc_mw(b.pd, type);
    ASSERT_NE(mw, nullptr);
    EXPECT_EQ(mw->type, type);
    EXPECT_EQ(mw->pd, b.pd);
    EXPECT_EQ(mw->context, b.context);
    EXPECT_NE(mw->rkey, 0U);
    EXPECT_EQ(ibv_dealloc_mw(mw), 0);
  }
}

TEST_F(MwTest, AnotherTypeIsRefused) {
  EXPECT_EQ(ibv_alloc_mw(b.pd, static_cast<ibv_mw_type>(3)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(MwTest, GrantsAccessUntilItIsDeallocated) {
  ibv_mw* const mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
  const uint32_t rkey = Bind(mw);
  EXPECT_EQ(Write(rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(b.mr), EBUSY) << "a window is bound to it";
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
  EXPECT_EQ(Write(rkey), IBV_WC_REM_ACCESS_ERR);
}

}  // namespace
}  // namespace verbena::ibverbs
