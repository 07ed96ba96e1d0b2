#include "managed/fault_streams.h"

#include <gtest/gtest.h>

namespace verbena::managed {
namespace {

uint32_t WindowAt(FaultStreams& streams, uint32_t granule) {
  return streams.WindowAt(granule, false).granules;
}

TEST(FaultStreams, ScatteredFaultsPageInOneGranule) {
  FaultStreams streams;
  for (const uint32_t granule : {5u, 100u, 3u, 101u * 7, 4u * 50}) {
    EXPECT_EQ(WindowAt(streams, granule), 1u);
  }
}

TEST(FaultStreams, AWalkDoublesItsWindowUpToABound) {
  FaultStreams streams;
  uint32_t granule = 40;
  for (const uint32_t expected : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 64u}) {
    EXPECT_EQ(WindowAt(streams, granule), expected);
    granule += expected;
  }
}

TEST(FaultStreams, AFaultAtGranuleZeroContinuesNoStream) {
  FaultStreams streams;
  EXPECT_EQ(WindowAt(streams, 0), 1u);
  EXPECT_EQ(WindowAt(streams, 0), 1u);
}

TEST(FaultStreams, SeveralThreadsWalkAtOnce) {
  FaultStreams streams;
  uint32_t a = 1000, b = 5000;
  for (const uint32_t expected : {1u, 2u, 4u, 8u}) {
    EXPECT_EQ(WindowAt(streams, a), expected);
    EXPECT_EQ(WindowAt(streams, b), expected);
    a += expected;
    b += expected;
    static_cast<void>(WindowAt(streams, 77 * a));  // continues no stream
  }
}

TEST(FaultStreams, ACutWindowContinuesWhereItEnded) {
  FaultStreams streams;
  EXPECT_EQ(WindowAt(streams, 10), 1u);
  EXPECT_EQ(WindowAt(streams, 11), 2u);
  EXPECT_EQ(WindowAt(streams, 13), 4u);
  streams.Cut(13, 4, 1);
  EXPECT_EQ(WindowAt(streams, 14), 8u);
}

TEST(FaultStreams, TheStreamIdleTheLongestIsReplaced) {
  FaultStreams streams;
  EXPECT_EQ(WindowAt(streams, 10), 1u);
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(WindowAt(streams, 1000 + 100 * i), 1u);
  EXPECT_EQ(WindowAt(streams, 11), 1u);
}

TEST(FaultStreams, AWalkThatWritesIsKnownAfterAFewFaults) {
  FaultStreams streams;
  uint32_t granule = 40;
  for (uint32_t i = 1; i < 8; ++i) {
    const FaultStreams::Window window = streams.WindowAt(granule, true);
    EXPECT_EQ(window.is_of_writer, i >= FaultStreams::kWritesOfWriter);
    granule += window.granules;
  }
}

TEST(FaultStreams, AWalkThatReadsInBetweenIsNoWriter) {
  FaultStreams streams;
  uint32_t granule = 40;
  for (uint32_t i = 0; i < 12; ++i) {
    const FaultStreams::Window window = streams.WindowAt(granule, i % 3 != 0);
    EXPECT_FALSE(window.is_of_writer);
    granule += window.granules;
  }
}

}  // namespace
}  // namespace verbena::managed
