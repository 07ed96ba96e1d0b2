#include "ibverbs/objects/control_ops.h"

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

TEST(ControlOpsTest, OperationsWithoutANullCheckAreSet) {
  verbs_context context{};
  FillControlOps(context);
  EXPECT_NE(context.close_xrcd, nullptr);
  EXPECT_NE(context.context.ops.dealloc_mw, nullptr);
}

TEST(ControlOpsTest, UnsupportedOperationsAreNull) {
  verbs_context context{};
  FillControlOps(context);
  EXPECT_EQ(context.create_counters, nullptr);
  EXPECT_EQ(context.ibv_create_flow, nullptr);
  EXPECT_EQ(context.create_wq, nullptr);
}

}  // namespace
}  // namespace verbena::ibverbs
