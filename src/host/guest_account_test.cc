#include "host/guest_account.h"

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr GuestLimits kLimits{.min = kMiB, .max = 100 * kMiB, .weight = 100};

Time At(int64_t milliseconds) { return Time(Milliseconds(milliseconds)); }

TEST(GuestAccount, ALoweredGrantIsCommittedUntilItIsAcknowledged) {
  GuestAccount account(kLimits, 0, Time());
  account.Raise(10 * kMiB);
  EXPECT_EQ(account.committed(), 10 * kMiB);
  account.Lower(4 * kMiB, At(1));
  EXPECT_EQ(account.grant(), 4 * kMiB);
  EXPECT_EQ(account.committed(), 10 * kMiB);
  account.OnAcknowledged(account.sequence());
  EXPECT_EQ(account.committed(), 4 * kMiB);
  EXPECT_FALSE(account.owes());
}

TEST(GuestAccount, TheKernelsWordCountsBesideTheGuests) {
  GuestAccount account(kLimits, 0, Time());
  account.Raise(10 * kMiB);
  account.OnResident(10 * kMiB, At(1));
  account.Lower(4 * kMiB, At(1));
  account.OnAcknowledged(account.sequence());
  EXPECT_TRUE(account.owes());
  EXPECT_EQ(account.committed(), 10 * kMiB);
  account.OnResident(3 * kMiB, At(2));
  EXPECT_FALSE(account.owes());
  EXPECT_EQ(account.committed(), 4 * kMiB);
  EXPECT_EQ(account.deadline(), Time::Never());
}

TEST(GuestAccount, AnOldAcknowledgementDoesNotCountForANewLowering) {
  GuestAccount account(kLimits, 0, Time());
  account.Raise(10 * kMiB);
  const uint64_t old = account.sequence();
  account.Lower(4 * kMiB, At(1));
  account.OnAcknowledged(old);
  EXPECT_TRUE(account.is_lowering());
}

TEST(GuestAccount, AnAcknowledgementInAdvanceDoesNotCount) {
  GuestAccount account(kLimits, 0, Time());
  account.Raise(10 * kMiB);
  account.OnAcknowledged(UINT64_MAX);
  account.Lower(4 * kMiB, At(1));
  EXPECT_TRUE(account.is_lowering());
}

TEST(GuestAccount, AGuestThatIsLateIsARogueUntilItComplies) {
  GuestAccount account(kLimits, 0, Time());
  account.Raise(10 * kMiB);
  account.OnResident(10 * kMiB, At(1));
  account.Lower(4 * kMiB, At(5));
  EXPECT_EQ(account.deadline(), At(5));
  EXPECT_EQ(account.OnLate(At(6)), 6 * kMiB);
  EXPECT_TRUE(account.is_rogue());
  EXPECT_EQ(account.deadline(), At(6)) << "it still holds too much";
  account.OnResident(2 * kMiB, At(7));
  EXPECT_EQ(account.committed(), 4 * kMiB);
  EXPECT_TRUE(account.is_rogue()) << "it has not acknowledged";
  account.OnAcknowledged(account.sequence());
  EXPECT_FALSE(account.is_rogue());
}

TEST(GuestAccount, WhatAGuestHasBeforeItsMinimumIsNoDebt) {
  GuestAccount account(kLimits, 0, Time());
  account.OnResident(kMiB, At(1));
  EXPECT_FALSE(account.owes());
  account.OnResident(kMiB + 1, At(1));
  EXPECT_TRUE(account.owes());
}

TEST(GuestAccount, DemandsAllWhileItFaultsAndWhatItHasOtherwise) {
  GuestAccount account(kLimits, 0, Time());
  account.SetRegistered(50 * kMiB);
  account.OnResident(16 * kMiB, At(0));
  account.OnUse({.faults = 1}, At(1'000));
  EXPECT_EQ(account.Demand(At(1'500), Seconds(1), kMiB), 50 * kMiB);
  EXPECT_EQ(account.Demand(At(2'001), Seconds(1), kMiB), 18 * kMiB);
  account.OnUse({.faults = 1, .is_waiting = true}, At(3'000));
  EXPECT_EQ(account.Demand(At(3'500), Seconds(1), kMiB), 50 * kMiB);
  account.SetQuiesced(50 * kMiB);
  EXPECT_EQ(account.Demand(At(3'500), Seconds(1), kMiB), kMiB);
  account.SetQuiesced(0);
  account.SetRegistered(500 * kMiB);
  EXPECT_EQ(account.Demand(At(3'500), Seconds(1), kMiB), 100 * kMiB);
}

TEST(GuestAccount, AnIdleGuestIsTaxed) {
  GuestAccount account(kLimits, 0, Time());
  for (int i = 0; i < 100; ++i) account.Age(At(i));
  EXPECT_NEAR(account.EffectiveWeight(0.75), 25, 0.1);
  for (int i = 0; i < 100; ++i) {
    account.OnUse({.activity = static_cast<uint64_t>(i + 1)}, At(200 + i));
    account.Age(At(200 + i));
  }
  EXPECT_NEAR(account.EffectiveWeight(0.75), 100, 0.1);
  EXPECT_EQ(account.last_used(), At(299));
}

}  // namespace
}  // namespace verbena::host
