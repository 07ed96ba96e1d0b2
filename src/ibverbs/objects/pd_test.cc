#include <infiniband/verbs.h>

#include <array>
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

class PdTest : public ::testing::Test {
 protected:
  ibv_pd* MakeParent(ibv_pd* pd, ibv_td* td = nullptr, uint32_t comp_mask = 0) {
    ibv_parent_domain_init_attr attributes{};
    attributes.pd = pd;
    attributes.td = td;
    attributes.comp_mask = comp_mask;
    return ibv_alloc_parent_domain(end_.context, &attributes);
  }

  testing::VerbsEnd end_;
};

TEST_F(PdTest, HasItsContext) {
  ibv_pd* const pd = ibv_alloc_pd(end_.context);
  ASSERT_NE(pd, nullptr);
  EXPECT_EQ(pd->context, end_.context);
  EXPECT_NE(pd->handle, end_.pd->handle);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(PdTest, IsInUseWhileItHasObjects) {
  EXPECT_EQ(ibv_dealloc_pd(end_.pd), EBUSY);
  ibv_pd* const pd = ibv_alloc_pd(end_.context);
  std::array<char, 64> bytes{};
  ibv_mr* const mr = ibv_reg_mr(pd, bytes.data(), bytes.size(), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  ibv_mw* const mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(PdTest, AParentDomainUsesItsProtectionDomain) {
  ibv_pd* const parent = MakeParent(end_.pd);
  ASSERT_NE(parent, nullptr);
  ibv_mr* const mr = ibv_reg_mr(parent, end_.bytes.data(), 64, int{IBV_ACCESS_LOCAL_WRITE});
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->pd, parent);
  EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY) << "the region is in it";
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
}

TEST_F(PdTest, ADomainIsInUseWhileItHasAParentDomain) {
  ibv_pd* const pd = ibv_alloc_pd(end_.context);
  ibv_pd* const parent = MakeParent(pd);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(PdTest, AThreadDomainIsInUseWhileAParentDomainHasIt) {
  ibv_td_init_attr attributes{};
  ibv_td* const td = ibv_alloc_td(end_.context, &attributes);
  ASSERT_NE(td, nullptr);
  EXPECT_EQ(td->context, end_.context);
  ibv_pd* const parent = MakeParent(end_.pd, td);
  EXPECT_EQ(ibv_dealloc_td(td), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(td), 0);
}

TEST_F(PdTest, InvalidArgumentsAreRefused) {
  testing::VerbsEnd other;
  EXPECT_EQ(MakeParent(nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(MakeParent(other.pd), nullptr);
  EXPECT_EQ(MakeParent(end_.pd, nullptr, 1U << 5), nullptr);
  ibv_pd* const parent = MakeParent(end_.pd, nullptr, IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(MakeParent(parent), nullptr);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  ibv_td_init_attr attributes{.comp_mask = 1};
  EXPECT_EQ(ibv_alloc_td(end_.context, &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::ibverbs
