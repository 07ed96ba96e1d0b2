#include <infiniband/verbs.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

TEST(EceTest, ThereAreNoOptions) {
  testing::VerbsEnd end;
  ibv_qp* const qp = end.MakeQp();
  ibv_ece ece{.vendor_id = 1, .options = 2, .comp_mask = 3};
  EXPECT_EQ(ibv_query_ece(qp, &ece), EOPNOTSUPP);
  EXPECT_EQ(ece.vendor_id, 0U) << "a program that passes it on passes on none";
  EXPECT_EQ(ibv_set_ece(qp, &ece), EOPNOTSUPP);
}

}  // namespace
}  // namespace verbena::ibverbs
