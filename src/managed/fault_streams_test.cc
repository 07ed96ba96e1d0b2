#include "managed/fault_streams.h"

#include <gtest/gtest.h>

namespace verbena::managed {
namespace {

TEST(FaultStreams, ScatteredFaultsPageInOneGranule) {
  FaultStreams streams;
  for (const uint32_t granule : {5u, 100u, 3u, 101u * 7, 4u * 50}) {
    EXPECT_EQ(streams.WindowAt(granule), 1u);
  }
}

TEST(FaultStreams, AWalkDoublesItsWindowUpToABound) {
  FaultStreams streams;
  uint32_t granule = 40;
  for (const uint32_t expected : {1u, 2u, 4u, 8u, 16u, 16u}) {
    EXPECT_EQ(streams.WindowAt(granule), expected);
    granule += expected;
  }
}

TEST(FaultStreams, AFaultAtGranuleZeroContinuesNoStream) {
  FaultStreams streams;
  EXPECT_EQ(streams.WindowAt(0), 1u);
  EXPECT_EQ(streams.WindowAt(0), 1u);
}

TEST(FaultStreams, SeveralThreadsWalkAtOnce) {
  FaultStreams streams;
  uint32_t a = 1000, b = 5000;
  for (const uint32_t expected : {1u, 2u, 4u, 8u}) {
    EXPECT_EQ(streams.WindowAt(a), expected);
    EXPECT_EQ(streams.WindowAt(b), expected);
    a += expected;
    b += expected;
    static_cast<void>(streams.WindowAt(77 * a));  // continues no stream
  }
}

TEST(FaultStreams, ACutWindowContinuesWhereItEnded) {
  FaultStreams streams;
  EXPECT_EQ(streams.WindowAt(10), 1u);
  EXPECT_EQ(streams.WindowAt(11), 2u);
  EXPECT_EQ(streams.WindowAt(13), 4u);
  streams.Cut(13, 4, 1);
  EXPECT_EQ(streams.WindowAt(14), 8u);
}

TEST(FaultStreams, TheStreamIdleTheLongestIsReplaced) {
  FaultStreams streams;
  EXPECT_EQ(streams.WindowAt(10), 1u);
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(streams.WindowAt(1000 + 100 * i), 1u);
  EXPECT_EQ(streams.WindowAt(11), 1u);
}

}  // namespace
}  // namespace verbena::managed
