#include "ibverbs/objects/region_access.h"

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

TEST(RegionAccessTest, EveryFlagHasItsRightAndTheOwnerMayRead) {
  EXPECT_EQ(RegionAccess(0), Access::kLocalRead);
  EXPECT_EQ(RegionAccess(IBV_ACCESS_LOCAL_WRITE), Access::kLocal);
  EXPECT_EQ(RegionAccess(IBV_ACCESS_REMOTE_READ), Access::kLocalRead | Access::kRemoteRead);
  EXPECT_EQ(RegionAccess(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                         IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND),
            Access::kAll);
}

TEST(RegionAccessTest, RemoteWriteNeedsLocalWrite) {
  EXPECT_EQ(RegionAccess(IBV_ACCESS_REMOTE_WRITE), std::nullopt);
  EXPECT_EQ(RegionAccess(IBV_ACCESS_REMOTE_ATOMIC), std::nullopt);
}

TEST(RegionAccessTest, FlagsAboutTheMemoryGrantNothing) {
  EXPECT_EQ(RegionAccess(IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_ZERO_BASED),
            Access::kLocalRead);
}

TEST(RegionAccessTest, OptionalFlagsAreDroppedAndUnknownOnesRefused) {
  EXPECT_EQ(RegionAccess(IBV_ACCESS_RELAXED_ORDERING), Access::kLocalRead);
  EXPECT_EQ(RegionAccess(IBV_ACCESS_OPTIONAL_RANGE), Access::kLocalRead);
  EXPECT_EQ(RegionAccess(1U << 8), std::nullopt);
  EXPECT_EQ(RegionAccess(1U << 31), std::nullopt);
}

TEST(WindowAccessTest, AWindowGrantsToPeersOnly) {
  EXPECT_EQ(WindowAccess(0), Access::kNone);
  EXPECT_EQ(WindowAccess(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE), Access::kRemoteWrite);
  EXPECT_EQ(WindowAccess(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED), Access::kRemoteRead);
  EXPECT_EQ(WindowAccess(IBV_ACCESS_MW_BIND), std::nullopt);
  EXPECT_EQ(WindowAccess(IBV_ACCESS_ON_DEMAND), std::nullopt);
}

}  // namespace
}  // namespace verbena::ibverbs
