#include "verbs/qp_attributes.h"

#include <gtest/gtest.h>

namespace verbena::verbs {
namespace {

using transport::QpAttribute;

TEST(QpAttributesTest, TheMaskHasOnlyTheGivenAttributes) {
  EXPECT_TRUE(ChangeOf(QpAttributes{}).mask.empty());
  const auto change = ChangeOf(QpAttributes{.state = QpState::kRtr, .rq_psn = Psn{0xFFFFFF}});
  EXPECT_EQ(change.mask, QpAttribute::kState | QpAttribute::kRqPsn);
  EXPECT_EQ(change.attributes.state, QpState::kRtr);
  EXPECT_EQ(change.attributes.rq_psn.value(), 0xFFFFFFU);
}

TEST(QpAttributesTest, EveryAttributeCanBeSet) {
  const QpAttributes all{.state = QpState::kErr,
                         .current_state = QpState::kRts,
                         .sqd_notify = true,
                         .access = Access::kRemote,
                         .p_key_index = 1,
                         .port = 2,
                         .q_key = QKey{3},
                         .path = AddressVector{.hop_limit = 4},
                         .path_mtu = PathMtu::k512,
                         .timeout = 5,
                         .retry_count = 6,
                         .rnr_retry = 7,
                         .rq_psn = Psn{8},
                         .max_rd_atomic = 9,
                         .min_rnr_timer = 10,
                         .sq_psn = Psn{11},
                         .max_dest_rd_atomic = 12,
                         .remote_qp = QpNumber{13},
                         .alternate_path = true,
                         .path_migration = true,
                         .capacity = true,
                         .rate_limit = true};
  const auto change = ChangeOf(all);
  EXPECT_EQ(change.mask, transport::AttributeMask::kAll);
  EXPECT_EQ(change.path.hop_limit, 4);

  // And back again.
  const QpReport report = ReportOf(adapter::QpStatus{.state = QpState::kErr,
                                                     .attributes = change.attributes,
                                                     .path = change.path,
                                                     .counters = {.rnr_naks = 14}});
  const QpAttributes& back = report.attributes;
  EXPECT_EQ(back.state, QpState::kErr);
  EXPECT_EQ(back.sqd_notify, all.sqd_notify);
  EXPECT_EQ(back.access, all.access);
  EXPECT_EQ(back.p_key_index, all.p_key_index);
  EXPECT_EQ(back.port, all.port);
  EXPECT_EQ(back.q_key, all.q_key);
  EXPECT_EQ(back.path, all.path);
  EXPECT_EQ(back.path_mtu, all.path_mtu);
  EXPECT_EQ(back.timeout, all.timeout);
  EXPECT_EQ(back.retry_count, all.retry_count);
  EXPECT_EQ(back.rnr_retry, all.rnr_retry);
  EXPECT_EQ(back.rq_psn, all.rq_psn);
  EXPECT_EQ(back.max_rd_atomic, all.max_rd_atomic);
  EXPECT_EQ(back.min_rnr_timer, all.min_rnr_timer);
  EXPECT_EQ(back.sq_psn, all.sq_psn);
  EXPECT_EQ(back.max_dest_rd_atomic, all.max_dest_rd_atomic);
  EXPECT_EQ(back.remote_qp, all.remote_qp);
  EXPECT_EQ(report.counters.rnr_naks, 14U);
}

}  // namespace
}  // namespace verbena::verbs
