#include "fabric/staging.h"

#include <cstddef>
#include <set>

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

TEST(Staging, HandsOutWithoutGaps) {
  Staging staging(100);
  const auto first = staging.Take(60);
  const auto second = staging.Take(40);
  EXPECT_EQ(first.size(), 60u);
  EXPECT_EQ(second.data(), first.data() + 60);
  EXPECT_EQ(staging.available(), 0u);
}

TEST(Staging, ReturnedBytesAreHandedOutAgain) {
  Staging staging(100);
  const auto kept = staging.Take(10);
  const auto first = staging.Take(30);
  staging.GiveBack(30);
  EXPECT_EQ(staging.used(), 10u);
  EXPECT_EQ(staging.Take(20).data(), first.data());
  staging.Clear();
  EXPECT_EQ(staging.Take(1).data(), kept.data());
}

TEST(Staging, LongBurstsBeginAtManyPlaces) {
  Staging staging(10'000);
  std::set<const std::byte*> places;
  for (int burst = 0; burst < 256; ++burst) {
    places.insert(staging.Take(10'000).data());
    staging.Clear();
  }
  EXPECT_GT(places.size(), 100u);
  for (const std::byte* const place : places) EXPECT_EQ((place - *places.begin()) % 16, 0);
}

TEST(Staging, ShortBurstsReuseTheSamePlace) {
  Staging staging(10'000);
  const auto first = staging.Take(4'096);
  staging.Clear();
  EXPECT_EQ(staging.Take(1).data(), first.data());
}

TEST(StagingDeathTest, MoreThanThereIs) {
  Staging staging(10);
  EXPECT_DEATH((void)staging.Take(11), "CHECK failed");
}

}  // namespace
}  // namespace verbena::fabric
