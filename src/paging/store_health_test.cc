#include "paging/store_health.h"

#include <gtest/gtest.h>

namespace verbena::paging {
namespace {

constexpr ResidentSetOptions kOptions = {
    .retry_first = Milliseconds(10), .retry_max = Milliseconds(35), .patience = Seconds(1)};

Time At(int64_t milliseconds) { return Time(Milliseconds(milliseconds)); }

TEST(StoreHealth, IsWellAtFirst) {
  StoreHealth health(kOptions);
  EXPECT_TRUE(health.is_well());
  EXPECT_TRUE(health.MayWrite(31, At(0)));
  EXPECT_EQ(health.retry_at(), Time::Never());
  EXPECT_EQ(health.OnWrite(WriteOutcome::kGood, At(0)), std::nullopt);
  EXPECT_FALSE(health.IsHopeless(At(1'000'000)));
}

TEST(StoreHealth, ReportsOnceAndTriesAgainAtGrowingIntervals) {
  StoreHealth health(kOptions);
  EXPECT_EQ(health.OnWrite(WriteOutcome::kFailed, At(0)), StoreReport::kFailing);
  EXPECT_EQ(health.OnWrite(WriteOutcome::kFailed, At(1)), std::nullopt);
  EXPECT_EQ(health.retry_at(), At(10));  // the second was already in flight
  EXPECT_FALSE(health.MayWrite(0, At(9)));
  EXPECT_TRUE(health.MayWrite(0, At(10)));
  EXPECT_FALSE(health.MayWrite(1, At(10)));
  EXPECT_EQ(health.OnWrite(WriteOutcome::kFailed, At(10)), std::nullopt);
  EXPECT_EQ(health.retry_at(), At(30));
  EXPECT_EQ(health.OnWrite(WriteOutcome::kFailed, At(30)), std::nullopt);
  EXPECT_EQ(health.retry_at(), At(65));
}

TEST(StoreHealth, ReportsAnotherError) {
  StoreHealth health(kOptions);
  EXPECT_EQ(health.OnWrite(WriteOutcome::kFailed, At(0)), StoreReport::kFailing);
  EXPECT_EQ(health.OnWrite(WriteOutcome::kFull, At(10)), StoreReport::kFull);
}

TEST(StoreHealth, IsWellAfterFourGoodWritesInARow) {
  StoreHealth health(kOptions);
  EXPECT_EQ(health.OnWrite(WriteOutcome::kFull, At(0)), StoreReport::kFull);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(health.OnWrite(WriteOutcome::kGood, At(10)), std::nullopt);
    EXPECT_TRUE(health.MayWrite(0, At(10)));  // at once, but one at a time
    EXPECT_FALSE(health.MayWrite(1, At(10)));
  }
  EXPECT_EQ(health.OnWrite(WriteOutcome::kFull, At(20)), std::nullopt);  // already reported
  for (int i = 0; i < 3; ++i) EXPECT_EQ(health.OnWrite(WriteOutcome::kGood, At(30)), std::nullopt);
  EXPECT_EQ(health.OnWrite(WriteOutcome::kGood, At(30)), StoreReport::kWell);
  EXPECT_TRUE(health.is_well());
  EXPECT_EQ(health.OnWrite(WriteOutcome::kFull, At(40)), StoreReport::kFull);
}

TEST(StoreHealth, IsHopelessAfterALongTimeWithoutAGoodWrite) {
  StoreHealth health(kOptions);
  static_cast<void>(health.OnWrite(WriteOutcome::kFull, At(0)));
  EXPECT_FALSE(health.IsHopeless(At(999)));
  EXPECT_TRUE(health.IsHopeless(At(1000)));
  static_cast<void>(health.OnWrite(WriteOutcome::kGood, At(1500)));
  EXPECT_FALSE(health.IsHopeless(At(9000)));  // the last one was good
  static_cast<void>(health.OnWrite(WriteOutcome::kFull, At(1600)));
  EXPECT_FALSE(health.IsHopeless(At(2499)));
  EXPECT_EQ(health.hopeless_at(), At(2500));
}

TEST(StoreHealth, TriesAtOnceWhenRoomIsFreed) {
  StoreHealth full(kOptions);
  static_cast<void>(full.OnWrite(WriteOutcome::kFull, At(0)));
  full.OnRoom();
  EXPECT_TRUE(full.MayWrite(0, At(1)));

  StoreHealth failing(kOptions);
  static_cast<void>(failing.OnWrite(WriteOutcome::kFailed, At(0)));
  failing.OnRoom();
  EXPECT_FALSE(failing.MayWrite(0, At(1)));
}

}  // namespace
}  // namespace verbena::paging
