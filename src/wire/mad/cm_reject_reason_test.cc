#include "wire/mad/cm_reject_reason.h"

#include <gtest/gtest.h>

namespace verbena::wire {
namespace {

TEST(CmRejectReasonTest, EveryReasonHasAName) {
  EXPECT_STREQ(NameOf(CmRejectReason::kNoQp), "no QP available");
  EXPECT_STREQ(NameOf(CmRejectReason::kStaleConnection), "stale connection");
  EXPECT_STREQ(NameOf(CmRejectReason::kConsumer), "consumer reject");
  EXPECT_STREQ(NameOf(CmRejectReason::kAlternateFlowLabel), "alternate flow label");
  EXPECT_STREQ(NameOf(static_cast<CmRejectReason>(0)), "reserved");
  EXPECT_STREQ(NameOf(static_cast<CmRejectReason>(34)), "reserved");
  EXPECT_STREQ(NameOf(static_cast<CmRejectReason>(0xFFFF)), "reserved");
}

}  // namespace
}  // namespace verbena::wire
