#include "ibverbs/datapath/data_ops.h"

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

// The inline functions of verbs.h call these without a check for null.
TEST(DataOpsTest, OperationsWithoutANullCheckAreSet) {
  verbs_context context{};
  FillDataOps(context);
  const ibv_context_ops& ops = context.context.ops;
  EXPECT_NE(ops.poll_cq, nullptr);
  EXPECT_NE(ops.req_notify_cq, nullptr);
  EXPECT_NE(ops.post_send, nullptr);
  EXPECT_NE(ops.post_recv, nullptr);
  EXPECT_NE(ops.post_srq_recv, nullptr);
  EXPECT_NE(ops.bind_mw, nullptr);
}

TEST(DataOpsTest, UnsupportedOperationsAreNull) {
  verbs_context context{};
  FillDataOps(context);
  EXPECT_EQ(context.create_wq, nullptr);
  EXPECT_EQ(context.ibv_create_flow, nullptr);
}

}  // namespace
}  // namespace verbena::ibverbs
