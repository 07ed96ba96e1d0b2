#include "ibverbs/objects/cq.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsEnd;

class CqTest : public ::testing::Test {
 protected:
  int ErrorOf(int entries, int vector) {
    errno = 0;
    ibv_cq* const cq = ibv_create_cq(end.context, entries, nullptr, nullptr, vector);
    if (cq == nullptr) return errno;
    return ibv_destroy_cq(cq);
  }
  struct Extensions {
    uint64_t wc_flags = 0;
    uint32_t comp_mask = 0;
    uint32_t flags = 0;
    ibv_pd* parent_domain = nullptr;
  };
  int ErrorOf(const Extensions& wish) {
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 8;
    attributes.wc_flags = wish.wc_flags;
    attributes.comp_mask = wish.comp_mask;
    attributes.flags = wish.flags;
    attributes.parent_domain = wish.parent_domain;
    errno = 0;
    ibv_cq_ex* const cq = ibv_create_cq_ex(end.context, &attributes);
    if (cq == nullptr) return errno;
    return ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
  }

  VerbsEnd end;
};

TEST_F(CqTest, HasAtLeastTheRequestedSize) {
  int context = 0;
  ibv_cq* const cq = ibv_create_cq(end.context, 100, &context, end.channel, 0);
  ASSERT_NE(cq, nullptr);
  EXPECT_GE(cq->cqe, 100);
  EXPECT_EQ(cq->context, end.context);
  EXPECT_EQ(cq->cq_context, &context);
  EXPECT_EQ(cq->channel, end.channel);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

TEST_F(CqTest, RefusesInvalidSizesAndVectors) {
  EXPECT_EQ(ErrorOf(1, 0), 0);
  EXPECT_EQ(ErrorOf(0, 0), EINVAL);
  EXPECT_EQ(ErrorOf(-1, 0), EINVAL);
  EXPECT_EQ(ErrorOf(8, -1), EINVAL);
  EXPECT_EQ(ErrorOf(8, end.context->num_comp_vectors), EINVAL);
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(end.context, &device), 0);
  EXPECT_EQ(ErrorOf(device.max_cqe, 0), 0);
  EXPECT_EQ(ErrorOf(device.max_cqe + 1, 0), EINVAL);
}

TEST_F(CqTest, RefusesAChannelOfAnotherContext) {
  VerbsEnd other;
  errno = 0;
  EXPECT_EQ(ibv_create_cq(end.context, 8, nullptr, other.channel, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(CqTest, CannotBeDestroyedWhileAQueuePairUsesIt) {
  (void)end.MakeQp();
  EXPECT_EQ(ibv_destroy_cq(end.cq), EBUSY);
}

TEST_F(CqTest, IsResized) {
  ASSERT_EQ(ibv_resize_cq(end.cq, 1'000), 0);
  EXPECT_GE(end.cq->cqe, 1'000);
  EXPECT_EQ(ibv_resize_cq(end.cq, 0), EINVAL);
  EXPECT_EQ(ibv_resize_cq(end.cq, 1 << 30), EINVAL);
}

TEST_F(CqTest, CannotBeShrunkBelowItsCompletions) {
  ibv_qp* const qp = end.MakeQp();
  ASSERT_EQ(end.ToInit(qp), 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(end.Receive(qp, 0, 8), 0);
  ASSERT_EQ(end.ToState(qp, IBV_QPS_ERR), 0);
  EXPECT_EQ(ibv_resize_cq(end.cq, 2), EINVAL);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(end.WaitStatus(), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(ibv_resize_cq(end.cq, 2), 0);
}

TEST_F(CqTest, AsksForEventsOnlyWithAChannel) {
  ibv_cq* const cq = ibv_create_cq(end.context, 8, nullptr, nullptr, 0);
  EXPECT_EQ(ibv_req_notify_cq(cq, 0), 0);
  EXPECT_EQ(ibv_req_notify_cq(end.cq, 1), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

TEST_F(CqTest, ModerationIsTheOnlyAttribute) {
  ibv_modify_cq_attr attributes{.attr_mask = IBV_CQ_ATTR_MODERATE,
                                .moderate = {.cq_count = 4, .cq_period = 100}};
  EXPECT_EQ(ibv_modify_cq(end.cq, &attributes), 0);
  attributes.attr_mask = 0;
  EXPECT_EQ(ibv_modify_cq(end.cq, &attributes), 0);
  attributes.attr_mask = IBV_CQ_ATTR_RESERVED;
  EXPECT_EQ(ibv_modify_cq(end.cq, &attributes), EINVAL);
}

TEST_F(CqTest, ExtensionsThatAreNotOfferedAreRefused) {
  EXPECT_EQ(ErrorOf({.wc_flags = kWcFlagsSupported}), 0);
  EXPECT_EQ(ErrorOf({.wc_flags = IBV_WC_EX_WITH_CVLAN}), EOPNOTSUPP);
  EXPECT_EQ(ErrorOf({.wc_flags = IBV_WC_EX_WITH_FLOW_TAG}), EOPNOTSUPP);
  EXPECT_EQ(ErrorOf({.comp_mask = 1U << 31}), EINVAL);
  EXPECT_EQ(ErrorOf({.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
                     .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED}),
            0);
  EXPECT_EQ(ErrorOf({.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1U << 31}), EOPNOTSUPP);
}

TEST_F(CqTest, RefusesAProtectionDomainAsParentDomain) {
  EXPECT_EQ(ErrorOf({.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = end.pd}), EINVAL);
  EXPECT_EQ(ErrorOf({.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = nullptr}), EINVAL);
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = end.pd;
  ibv_pd* const parent = ibv_alloc_parent_domain(end.context, &attributes);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(ErrorOf({.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = parent}), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
