#include <fcntl.h>
#include <infiniband/verbs.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

class XrcdTest : public ::testing::Test {
 protected:
  ibv_xrcd* Open(uint32_t comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS) {
    ibv_xrcd_init_attr attributes{.comp_mask = comp_mask, .fd = -1, .oflags = O_CREAT};
    return ibv_open_xrcd(end_.context, &attributes);
  }

  testing::VerbsEnd end_;
};

TEST_F(XrcdTest, HasItsContext) {
  ibv_xrcd* const xrcd = Open();
  ASSERT_NE(xrcd, nullptr);
  EXPECT_EQ(xrcd->context, end_.context);
  EXPECT_EQ(ibv_close_xrcd(xrcd), 0);
}

TEST_F(XrcdTest, NeedsAFileAndFlags) {
  for (const uint32_t mask : {0U, uint32_t{IBV_XRCD_INIT_ATTR_FD}, 7U}) {
    EXPECT_EQ(Open(mask), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST_F(XrcdTest, IsInUseWhileItHasAQueue) {
  ibv_xrcd* const xrcd = Open();
  ibv_srq_init_attr_ex attributes{};
  attributes.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  attributes.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  attributes.srq_type = IBV_SRQT_XRC;
  attributes.pd = end_.pd;
  attributes.xrcd = xrcd;
  attributes.cq = end_.cq;
  ibv_srq* const srq = ibv_create_srq_ex(end_.context, &attributes);
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(ibv_close_xrcd(xrcd), EBUSY);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_close_xrcd(xrcd), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
