#include "host/arbiter.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

using Kind = ArbiterAction::Kind;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// An arbiter with guests that obey at once, unless a test makes them not.
class ArbiterTest : public testing::Test {
 protected:
  GuestId Attach(const GuestLimits& limits, uint64_t registered, uint64_t recorded = 0) {
    const auto id = arbiter_.Attach(limits, recorded, now_);
    EXPECT_TRUE(id);
    arbiter_.SetRegistered(*id, registered, now_);
    EXPECT_TRUE(arbiter_.AddRegion(*id, RegionNumber(1), registered, 0, now_));
    return *id;
  }

  // It faults, so that it wants all that it has registered.
  void Fault(GuestId guest) { arbiter_.OnUse(guest, {.faults = ++faults_}, now_); }

  // Does what the arbiter wants for all guests but the deaf one.
  void Run(Duration duration, GuestId deaf = GuestId(0)) {
    for (const Time end = now_ + duration; now_ < end; now_ += Milliseconds(10)) {
      arbiter_.OnTime(now_);
      for (const ArbiterAction& action : arbiter_.TakeActions()) {
        seen_.push_back(action);
        if (action.guest == deaf) continue;
        if (action.kind == Kind::kGrant) {
          arbiter_.OnAcknowledged(action.guest, action.sequence, now_);
        }
        if (action.kind == Kind::kQuiesce) {
          arbiter_.OnRegionQuiesced(action.guest, action.region, now_);
        }
        if (action.kind == Kind::kResume) {
          arbiter_.OnRegionResumed(action.guest, action.region, now_);
        }
      }
      ASSERT_TRUE(arbiter_.IsConsistent());
    }
  }

  [[nodiscard]] uint64_t Grant(GuestId guest) const { return arbiter_.Status(guest).grant; }
  [[nodiscard]] bool Saw(Kind kind, GuestId guest) const {
    return std::ranges::any_of(seen_, [&](const ArbiterAction& action) {
      return action.kind == kind && action.guest == guest;
    });
  }

  static constexpr GuestLimits kLimits{.min = kMiB, .max = UINT64_MAX, .weight = 100};

  Time now_{Seconds(100)};
  uint64_t faults_ = 0;
  Arbiter arbiter_{{.budget = 256 * kMiB}};
  std::vector<ArbiterAction> seen_;
};

TEST_F(ArbiterTest, AGuestAloneGetsWhatItNeeds) {
  const GuestId guest = Attach(kLimits, 64 * kMiB);
  Fault(guest);
  Run(Milliseconds(50));
  EXPECT_EQ(Grant(guest), 64 * kMiB);
}

TEST_F(ArbiterTest, ASecondGuestTakesHalfFromTheFirst) {
  const GuestId first = Attach(kLimits, 256 * kMiB);
  Fault(first);
  Run(Milliseconds(50));
  EXPECT_EQ(Grant(first), 256 * kMiB);
  const GuestId second = Attach(kLimits, 256 * kMiB);
  Fault(second);
  Run(Milliseconds(50));
  EXPECT_EQ(Grant(first), 128 * kMiB);
  EXPECT_EQ(Grant(second), 128 * kMiB);
}

TEST_F(ArbiterTest, NothingIsGrantedThatAnotherHasNotGivenUp) {
  const GuestId first = Attach(kLimits, 256 * kMiB);
  Fault(first);
  Run(Milliseconds(50));
  const GuestId second = Attach(kLimits, 256 * kMiB);
  Fault(second);
  Run(Seconds(1), first);
  EXPECT_EQ(Grant(first), 128 * kMiB);
  EXPECT_EQ(Grant(second), 0U);
  EXPECT_EQ(arbiter_.committed(), 256 * kMiB);
}

TEST_F(ArbiterTest, WeightsDivideWhatIsScarce) {
  const GuestId light = Attach({.min = kMiB, .weight = 100}, 256 * kMiB);
  const GuestId heavy = Attach({.min = kMiB, .weight = 300}, 256 * kMiB);
  for (int i = 0; i < 20; ++i) {
    Fault(light);
    Fault(heavy);
    Run(Milliseconds(100));
  }
  EXPECT_NEAR(static_cast<double>(Grant(light) - kMiB) / kMiB, 254 / 4.0, 1);
  EXPECT_NEAR(static_cast<double>(Grant(heavy) - kMiB) / kMiB, 254 * 3 / 4.0, 1);
}

TEST_F(ArbiterTest, AnIdleGuestKeepsItsMinimumAndAQuarterOfTheWeight) {
  const GuestId idle = Attach({.min = 8 * kMiB, .weight = 100}, 256 * kMiB);
  Fault(idle);
  Run(Milliseconds(50));
  arbiter_.OnResident(idle, 256 * kMiB, now_);
  Run(Seconds(10));
  EXPECT_EQ(Grant(idle), 256 * kMiB) << "memory is taken only while another guest lacks it";
  const GuestId busy = Attach({.min = 8 * kMiB, .weight = 100}, 256 * kMiB);
  for (int i = 0; i < 20; ++i) {
    Fault(busy);
    Run(Milliseconds(100));
    arbiter_.OnResident(idle, Grant(idle), now_);
  }
  EXPECT_NEAR(static_cast<double>(Grant(idle)) / kMiB, 8 + 240 / 5.0, 4);
  EXPECT_NEAR(static_cast<double>(Grant(busy)) / kMiB, 8 + 240 * 4 / 5.0, 4);
}

TEST_F(ArbiterTest, AGuestThatIsIdleForLongIsQuiescedWhileOthersAreShort) {
  const GuestId idle = Attach(kLimits, 256 * kMiB);
  Run(Milliseconds(50));
  const GuestId busy = Attach(kLimits, 512 * kMiB);
  for (int i = 0; i < 310; ++i) {
    Fault(busy);
    Run(Milliseconds(100));
  }
  EXPECT_TRUE(Saw(Kind::kQuiesce, idle));
  EXPECT_FALSE(Saw(Kind::kQuiesce, busy));
  EXPECT_EQ(arbiter_.Status(idle).quiesced, 1U);
  EXPECT_EQ(Grant(idle), kMiB);
  arbiter_.OnInterest(idle, RegionNumber(1), now_);
  Run(Milliseconds(50));
  EXPECT_TRUE(Saw(Kind::kResume, idle));
  EXPECT_EQ(arbiter_.Status(idle).quiesced, 0U);
}

// Its packets are none, and its words say that it waits for those of others.
TEST_F(ArbiterTest, ARegionWithOperationsOutstandingIsNotIdle) {
  const GuestId idle = Attach(kLimits, 256 * kMiB);
  arbiter_.SetBusy(idle, RegionNumber(1), true);
  Run(Milliseconds(50));
  const GuestId busy = Attach(kLimits, 512 * kMiB);
  for (int i = 0; i < 310; ++i) {
    Fault(busy);
    Run(Milliseconds(100));
  }
  EXPECT_FALSE(Saw(Kind::kQuiesce, idle));
  arbiter_.SetBusy(idle, RegionNumber(1), false);
  Fault(busy);
  Run(Milliseconds(200));
  EXPECT_TRUE(Saw(Kind::kQuiesce, idle));
}

TEST_F(ArbiterTest, ANewGuestIsNotIdle) {
  const GuestId busy = Attach(kLimits, 512 * kMiB);
  Fault(busy);
  const GuestId guest = Attach(kLimits, 256 * kMiB);
  Run(Seconds(1));
  EXPECT_FALSE(Saw(Kind::kQuiesce, guest));
}

TEST_F(ArbiterTest, AnIdleGuestIsLeftAloneWhileThereIsEnough) {
  const GuestId idle = Attach(kLimits, 64 * kMiB);
  Run(Seconds(60));
  EXPECT_FALSE(Saw(Kind::kQuiesce, idle));
}

TEST_F(ArbiterTest, ADeafGuestIsPunchedAndTheOthersGetTheirShare) {
  const GuestId deaf = Attach(kLimits, 256 * kMiB);
  Fault(deaf);
  Run(Milliseconds(50));
  arbiter_.OnResident(deaf, 256 * kMiB, now_);
  const GuestId other = Attach(kLimits, 256 * kMiB);
  Fault(other);
  Run(Seconds(4), deaf);
  EXPECT_FALSE(Saw(Kind::kPunch, deaf));
  Run(Seconds(2), deaf);
  ASSERT_TRUE(Saw(Kind::kPunch, deaf));
  EXPECT_EQ(Grant(other), 0U) << "what was not given up is not granted";
  arbiter_.OnResident(deaf, 0, now_);
  Fault(other);
  Run(Milliseconds(50), deaf);
  EXPECT_GE(Grant(other), 100 * kMiB);
  EXPECT_TRUE(arbiter_.Status(deaf).is_rogue);
}

TEST_F(ArbiterTest, WhatAGuestHadIsTheOthersWhenItIsGone) {
  const GuestId first = Attach(kLimits, 256 * kMiB);
  const GuestId second = Attach(kLimits, 256 * kMiB);
  Fault(first);
  Fault(second);
  Run(Milliseconds(50));
  arbiter_.OnGone(first, now_);
  Fault(second);
  Run(Milliseconds(50));
  EXPECT_EQ(Grant(second), 256 * kMiB);
}

TEST_F(ArbiterTest, WhatAnAbsentGuestHasIsKeptForIt) {
  const GuestId away = Attach(kLimits, 256 * kMiB, 100 * kMiB);
  arbiter_.OnAbsent(away, now_);
  const GuestId other = Attach(kLimits, 256 * kMiB);
  for (int i = 0; i < 29; ++i) {
    Fault(other);
    Run(Seconds(1));
  }
  EXPECT_EQ(Grant(other), 156 * kMiB);
  EXPECT_FALSE(Saw(Kind::kForget, away));
  Run(Seconds(2));
  EXPECT_TRUE(Saw(Kind::kForget, away));
}

TEST_F(ArbiterTest, ABudgetThatIsTooSmallForWhatWasRecordedIsReachedSoon) {
  const GuestId first = Attach(kLimits, 256 * kMiB, 200 * kMiB);
  const GuestId second = Attach(kLimits, 256 * kMiB, 200 * kMiB);
  EXPECT_EQ(arbiter_.committed(), 400 * kMiB);
  Fault(first);
  Fault(second);
  Run(Milliseconds(50));
  EXPECT_LE(arbiter_.committed(), 256 * kMiB);
  EXPECT_EQ(Grant(first), 128 * kMiB);
}

TEST_F(ArbiterTest, MinimumsThatDoNotFitAreRefused) {
  Attach({.min = 200 * kMiB}, kMiB);
  const auto more = arbiter_.Attach({.min = 57 * kMiB}, 0, now_);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kLimit);
  EXPECT_NE(more.error().text.find("58720256 of 268435456"), std::string::npos)
      << more.error().text;
  EXPECT_TRUE(arbiter_.Attach({.min = 56 * kMiB}, 0, now_));
}

TEST_F(ArbiterTest, BadLimitsAreRefused) {
  for (const GuestLimits& limits :
       {GuestLimits{.min = kGuestMinimum - 1}, GuestLimits{.min = 2 * kMiB, .max = kMiB},
        GuestLimits{.weight = 0}, GuestLimits{.weight = kWeightMax + 1}}) {
    const auto id = arbiter_.Attach(limits, 0, now_);
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error().code, ErrorCode::kInvalid);
  }
}

TEST_F(ArbiterTest, GuestsAreBounded) {
  Arbiter small({.budget = 256 * kMiB, .guests_max = 1});
  EXPECT_TRUE(small.Attach(kLimits, 0, now_));
  EXPECT_FALSE(small.Attach(kLimits, 0, now_));
}

TEST_F(ArbiterTest, AQuiescedRegionOfTheOperatorIsForcedWhenItTakesTooLong) {
  const GuestId guest = Attach(kLimits, 64 * kMiB);
  Run(Milliseconds(50));
  arbiter_.Quiesce(guest, RegionNumber(1), {}, true, now_);
  Run(Seconds(6), guest);
  EXPECT_TRUE(Saw(Kind::kQuiesce, guest));
  EXPECT_TRUE(Saw(Kind::kForce, guest));
  arbiter_.OnRegionQuiesced(guest, RegionNumber(1), now_);
  arbiter_.OnInterest(guest, RegionNumber(1), now_);
  Run(Milliseconds(50));
  EXPECT_FALSE(Saw(Kind::kResume, guest)) << "the operator holds it";
  EXPECT_EQ(arbiter_.Status(guest).waiting, 1U);
  arbiter_.Resume(guest, RegionNumber(1));
  Run(Milliseconds(50));
  EXPECT_EQ(arbiter_.Status(guest).quiesced, 0U);
}

TEST_F(ArbiterTest, AMinimumIsWorthASmallDifference) {
  const GuestId first = Attach(kLimits, 256 * kMiB);
  Fault(first);
  Run(Milliseconds(50));
  ASSERT_EQ(Grant(first), 256 * kMiB);
  const GuestId small = Attach(kLimits, 0);
  Run(Milliseconds(50));
  EXPECT_EQ(Grant(small), kMiB);
  EXPECT_EQ(Grant(first), 255 * kMiB);
}

TEST_F(ArbiterTest, SmallDifferencesMoveNothing) {
  const GuestId first = Attach(kLimits, 256 * kMiB);
  const GuestId second = Attach(kLimits, 256 * kMiB);
  for (int i = 0; i < 10; ++i) {
    Fault(first);
    Fault(second);
    Run(Milliseconds(100));
  }
  seen_.clear();
  for (int i = 0; i < 100; ++i) {
    Fault(first);
    Fault(second);
    arbiter_.OnResident(first, Grant(first) - static_cast<uint64_t>(i % 7) * 4096, now_);
    Run(Milliseconds(100));
  }
  EXPECT_TRUE(seen_.empty());
}

}  // namespace
}  // namespace verbena::host
