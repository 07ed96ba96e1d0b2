#include "host/region_states.h"

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

using Request = RegionStates::Request;

constexpr RegionNumber kRegion(7);

class RegionStatesTest : public testing::Test {
 protected:
  RegionStatesTest() { EXPECT_TRUE(states_.Add(kRegion, 100, 0, 2)); }

  [[nodiscard]] RegionPhase phase() const { return states_.regions().at(kRegion).phase; }

  RegionStates states_;
};

TEST_F(RegionStatesTest, GoesOutAndComesBack) {
  EXPECT_EQ(states_.Quiesce(kRegion, {}, false, Time::Never()), Request::kQuiesce);
  EXPECT_EQ(states_.out_bytes(), 0U);
  EXPECT_EQ(states_.OnQuiesced(kRegion), Request::kNone);
  EXPECT_EQ(phase(), RegionPhase::kOut);
  EXPECT_EQ(states_.out_bytes(), 100U);
  EXPECT_EQ(states_.Resume(kRegion), Request::kResume);
  EXPECT_EQ(states_.out_bytes(), 0U);
  states_.OnResumed(kRegion);
  EXPECT_EQ(phase(), RegionPhase::kInUse);
}

TEST_F(RegionStatesTest, OfAPartOnlyItsBytesAreOut) {
  EXPECT_EQ(states_.Quiesce(kRegion, {.offset = 10, .length = 30}, false, Time::Never()),
            Request::kQuiesce);
  EXPECT_EQ(states_.Quiesce(kRegion, {.offset = 50, .length = 9}, false, Time::Never()),
            Request::kNone)
      << "one at a time";
  EXPECT_EQ(states_.OnQuiesced(kRegion), Request::kNone);
  EXPECT_EQ(states_.out_bytes(), 30U);
  EXPECT_EQ(states_.regions().at(kRegion).part, (RegionPart{10, 30}));
  EXPECT_EQ(states_.OnInterest(kRegion), Request::kResume);
  EXPECT_EQ(states_.out_bytes(), 0U);
  ASSERT_TRUE(states_.Add(RegionNumber(8), 5, 2, 2));
  EXPECT_EQ(states_.out_bytes(), 2U) << "a part was out before the broker came";
  states_.Remove(RegionNumber(8));
  EXPECT_EQ(states_.out_bytes(), 0U);
}

TEST_F(RegionStatesTest, NoMoreIsOutThanThereIs) {
  ASSERT_TRUE(states_.Add(RegionNumber(8), 5, UINT64_MAX, 2));
  EXPECT_EQ(states_.out_bytes(), 5U);
  EXPECT_EQ(states_.Quiesce(kRegion, {.offset = 0, .length = UINT64_MAX}, false, Time::Never()),
            Request::kQuiesce);
  EXPECT_EQ(states_.OnQuiesced(kRegion), Request::kNone);
  EXPECT_EQ(states_.out_bytes(), 105U);
}

TEST_F(RegionStatesTest, InterestBringsItBack) {
  EXPECT_EQ(states_.Quiesce(kRegion, {}, false, Time::Never()), Request::kQuiesce);
  EXPECT_EQ(states_.OnQuiesced(kRegion), Request::kNone);
  EXPECT_EQ(states_.OnInterest(kRegion), Request::kResume);
  EXPECT_EQ(states_.OnInterest(kRegion), Request::kNone) << "it is on its way";
  EXPECT_EQ(states_.waiting_count(), 1U);
  states_.OnResumed(kRegion);
  EXPECT_EQ(states_.waiting_count(), 0U);
}

TEST_F(RegionStatesTest, InterestBeforeItIsOutCounts) {
  EXPECT_EQ(states_.Quiesce(kRegion, {}, false, Time::Never()), Request::kQuiesce);
  EXPECT_EQ(states_.OnInterest(kRegion), Request::kNone);
  EXPECT_EQ(states_.OnQuiesced(kRegion), Request::kResume);
}

TEST_F(RegionStatesTest, TheOperatorHoldsARegionAgainstInterest) {
  EXPECT_EQ(states_.Quiesce(kRegion, {}, true, Time::Never()), Request::kQuiesce);
  EXPECT_EQ(states_.OnInterest(kRegion), Request::kNone);
  EXPECT_EQ(states_.OnQuiesced(kRegion), Request::kNone);
  EXPECT_EQ(phase(), RegionPhase::kOut);
  EXPECT_EQ(states_.OnInterest(kRegion), Request::kNone);
  EXPECT_EQ(states_.Resume(kRegion), Request::kResume);
}

TEST_F(RegionStatesTest, ALateAnswerToAWithdrawnRequestMeansNothing) {
  EXPECT_EQ(states_.Quiesce(kRegion, {}, false, Time::Never()), Request::kQuiesce);
  EXPECT_EQ(states_.Resume(kRegion), Request::kResume);
  EXPECT_EQ(states_.OnQuiesced(kRegion), Request::kNone);
  EXPECT_EQ(phase(), RegionPhase::kResuming);
}

TEST_F(RegionStatesTest, OperationsThatDoNotEndAreForced) {
  const Time deadline(Seconds(5));
  EXPECT_EQ(states_.Quiesce(kRegion, {}, false, deadline), Request::kQuiesce);
  EXPECT_EQ(states_.next_deadline(), deadline);
  EXPECT_EQ(states_.OnTime(kRegion, deadline - Nanoseconds(1)), Request::kNone);
  EXPECT_EQ(states_.OnTime(kRegion, deadline), Request::kForce);
  EXPECT_EQ(states_.OnTime(kRegion, deadline), Request::kNone) << "once";
  EXPECT_TRUE(states_.regions().at(kRegion).is_forced);
}

TEST_F(RegionStatesTest, TwiceTheSameIsOnce) {
  EXPECT_EQ(states_.Quiesce(kRegion, {}, false, Time::Never()), Request::kQuiesce);
  EXPECT_EQ(states_.Quiesce(kRegion, {}, false, Time::Never()), Request::kNone);
  EXPECT_FALSE(states_.Add(kRegion, 5, 0, 2));
  EXPECT_EQ(states_.bytes(), 100U);
}

TEST_F(RegionStatesTest, IsBounded) {
  EXPECT_TRUE(states_.Add(RegionNumber(8), 5, 5, 2));
  EXPECT_FALSE(states_.Add(RegionNumber(9), 5, 0, 2));
  EXPECT_EQ(states_.out_bytes(), 5U) << "a region that was out when its guest came back";
  states_.Remove(RegionNumber(8));
  EXPECT_EQ(states_.out_bytes(), 0U);
  EXPECT_FALSE(states_.Add(RegionNumber(9), UINT64_MAX, 0, 2));
}

TEST_F(RegionStatesTest, UnknownRegionsAreIgnored) {
  const RegionNumber unknown(99);
  EXPECT_EQ(states_.Quiesce(unknown, {}, true, Time::Never()), Request::kNone);
  EXPECT_EQ(states_.Resume(unknown), Request::kNone);
  EXPECT_EQ(states_.OnQuiesced(unknown), Request::kNone);
  EXPECT_EQ(states_.OnInterest(unknown), Request::kNone);
  states_.OnResumed(unknown);
  states_.Remove(unknown);
  EXPECT_EQ(states_.regions().size(), 1U);
}

}  // namespace
}  // namespace verbena::host
