#include "transport/iwarp/early_frames.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using wire::StreamOffset;

TEST(EarlyFramesTest, AFrameThatWasPlacedIsNotPlacedAgain) {
  EarlyFrames frames;
  frames.Reserve();
  EXPECT_FALSE(frames.Take(StreamOffset(0), StreamOffset(100)));
  frames.Add(StreamOffset(100), StreamOffset(200));
  EXPECT_TRUE(frames.Has(StreamOffset(100)));
  EXPECT_FALSE(frames.Has(StreamOffset(200)));
  EXPECT_FALSE(frames.Take(StreamOffset(0), StreamOffset(100)));
  EXPECT_TRUE(frames.Take(StreamOffset(100), StreamOffset(200)));
  EXPECT_FALSE(frames.Take(StreamOffset(100), StreamOffset(200)));
}

// Markers that point to other frames than those of the stream.
TEST(EarlyFramesTest, FramesThatTheStreamDoesNotHaveAreForgotten) {
  EarlyFrames frames;
  frames.Reserve();
  frames.Add(StreamOffset(50), StreamOffset(150));
  frames.Add(StreamOffset(100), StreamOffset(300));
  EXPECT_FALSE(frames.Take(StreamOffset(0), StreamOffset(100)));
  EXPECT_EQ(frames.size(), 1);
  EXPECT_FALSE(frames.Take(StreamOffset(100), StreamOffset(200)));
  EXPECT_EQ(frames.size(), 0);
}

TEST(EarlyFramesTest, AreBounded) {
  EarlyFrames frames;
  frames.Reserve();
  for (size_t i = 0; i < EarlyFrames::kMax; ++i) {
    EXPECT_FALSE(frames.is_full());
    frames.Add(StreamOffset(i), StreamOffset(i + 1));
  }
  EXPECT_TRUE(frames.is_full());
}

}  // namespace
}  // namespace verbena::transport
