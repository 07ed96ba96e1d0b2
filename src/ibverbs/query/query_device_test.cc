#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "ibverbs/objects/control_ops.h"
#include "ibverbs/objects/dm.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

class QueryDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(ibv_query_device(end_.context, &attributes_), 0); }

  testing::VerbsEnd end_;
  ibv_device_attr attributes_{};
};

TEST_F(QueryDeviceTest, ReportsItsIdentity) {
  EXPECT_NE(attributes_.vendor_id, 0U);
  EXPECT_NE(attributes_.fw_ver[0], '\0');
  EXPECT_NE(attributes_.node_guid, 0U);
  EXPECT_EQ(attributes_.phys_port_cnt, 1);
  EXPECT_EQ(attributes_.max_pkeys, 1);
}

TEST_F(QueryDeviceTest, ReportsTheEffectiveLimits) {
  const auto at_most = [&](int depth, int sges) {
    return end_.TryMakeQp({.depth = static_cast<uint32_t>(depth),
                           .sges = static_cast<uint32_t>(sges)}) != nullptr;
  };
  EXPECT_TRUE(at_most(1, attributes_.max_sge));
  EXPECT_FALSE(at_most(1, attributes_.max_sge + 1));
  EXPECT_TRUE(at_most(attributes_.max_qp_wr, 1));
  EXPECT_FALSE(at_most(attributes_.max_qp_wr + 1, 1));
  EXPECT_EQ(ibv_create_cq(end_.context, attributes_.max_cqe + 1, nullptr, nullptr, 0), nullptr);
}

TEST_F(QueryDeviceTest, TheExtendedStructureHasTheOtherAttributes) {
  ibv_device_attr_ex all{};
  ASSERT_EQ(ibv_query_device_ex(end_.context, nullptr, &all), 0);
  EXPECT_EQ(std::memcmp(&all.orig_attr, &attributes_, sizeof attributes_), 0);
  EXPECT_EQ(all.odp_caps.general_caps, uint64_t{IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT});
  EXPECT_EQ(all.odp_caps.per_transport_caps.rc_odp_caps, 0x3FU);
  EXPECT_EQ(all.odp_caps.per_transport_caps.ud_odp_caps, 0x3U);
  EXPECT_EQ(all.hca_core_clock, 1'000'000U);
  EXPECT_EQ(all.completion_timestamp_mask, UINT64_MAX);
  EXPECT_EQ(all.phys_port_cnt_ex, 1U);
  EXPECT_EQ(all.max_dm_size, kDeviceMemoryMax);
}

TEST_F(QueryDeviceTest, AProgramWithAnOlderOrNewerStructureIsServed) {
  std::vector<unsigned char> bytes(sizeof(ibv_device_attr_ex) + 16, 0xEE);
  auto* const attributes = reinterpret_cast<ibv_device_attr_ex*>(bytes.data());
  constexpr size_t kOld = sizeof(ibv_device_attr) + 8;
  ASSERT_EQ(QueryDeviceEx(end_.context, nullptr, attributes, kOld), 0);
  EXPECT_EQ(attributes->orig_attr.max_qp, attributes_.max_qp);
  EXPECT_EQ(bytes[kOld], 0xEE);
  ASSERT_EQ(QueryDeviceEx(end_.context, nullptr, attributes, bytes.size()), 0);
  EXPECT_EQ(bytes.back(), 0);
  EXPECT_EQ(QueryDeviceEx(end_.context, nullptr, attributes, 8), EINVAL);
  const ibv_query_device_ex_input input{.comp_mask = 1};
  EXPECT_EQ(ibv_query_device_ex(end_.context, &input, attributes), EINVAL);
}

TEST_F(QueryDeviceTest, TheClockAdvances) {
  ibv_values_ex first{.comp_mask = IBV_VALUES_MASK_RAW_CLOCK, .raw_clock = {}};
  ibv_values_ex second = first;
  ASSERT_EQ(ibv_query_rt_values_ex(end_.context, &first), 0);
  ASSERT_EQ(ibv_query_rt_values_ex(end_.context, &second), 0);
  EXPECT_EQ(first.comp_mask, uint32_t{IBV_VALUES_MASK_RAW_CLOCK});
  EXPECT_GT(first.raw_clock.tv_nsec, 0);
  EXPECT_GE(second.raw_clock.tv_nsec, first.raw_clock.tv_nsec);
  ibv_values_ex other{.comp_mask = 2, .raw_clock = {}};
  EXPECT_EQ(ibv_query_rt_values_ex(end_.context, &other), EINVAL);
}

}  // namespace
}  // namespace verbena::ibverbs
