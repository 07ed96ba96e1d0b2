#include "transport/iwarp/mpa_sender.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "wire/iwarp/mpa_fpdu.h"

namespace verbena::transport {
namespace {

using Bytes = std::vector<std::byte>;

StreamConfig ConfigOf(bool markers) { return {.send_markers = markers, .ulpdu_max = 4000}; }

TEST(MpaSenderTest, RecordsAreTheLengthAndTheSegment) {
  SendBuffer buffer(1000);
  MpaSender sender({.framing = StreamFraming::kRecords}, buffer);
  ASSERT_TRUE(sender.Begin(2));
  std::ranges::fill(sender.ulpdu(), std::byte{7});
  sender.End();
  const auto bytes = buffer.bytes()[0];
  EXPECT_EQ(Bytes(bytes.begin(), bytes.end()),
            (Bytes{std::byte{0}, std::byte{2}, std::byte{7}, std::byte{7}}));
}

TEST(MpaSenderTest, PadIsZero) {
  SendBuffer buffer(1000);
  std::memset(buffer.Reserve(1000).data(), 0xFF, 1000);
  MpaSender sender(ConfigOf(false), buffer);
  ASSERT_TRUE(sender.Begin(3));
  sender.End();
  const auto bytes = buffer.bytes()[0];
  ASSERT_EQ(bytes.size(), 12);
  for (size_t i = 5; i < 8; ++i) EXPECT_EQ(bytes[i], std::byte{0}) << i;
}

TEST(MpaSenderTest, AFrameThatIsBegunAndNotEndedHasNoEffect) {
  SendBuffer buffer(1000);
  MpaSender sender(ConfigOf(false), buffer);
  ASSERT_TRUE(sender.Begin(100));
  EXPECT_TRUE(buffer.empty());
  ASSERT_TRUE(sender.Begin(10));
  sender.End();
  EXPECT_EQ(buffer.size(), 16);
}

TEST(MpaSenderTest, TheLastFrameAlwaysHasRoom) {
  for (const bool markers : {false, true}) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      Random random(seed);
      SendBuffer buffer(2000);
      MpaSender sender(ConfigOf(markers), buffer);
      for (int i = 0; i < 30; ++i) {
        if (sender.Begin(1 + random.Below(900))) sender.End();
        buffer.Consume(random.Below(buffer.size() / 2 + 1));
      }
      const size_t before = buffer.size();
      sender.BeginLast(MpaSender::kUlpduReserved);
      sender.End();
      EXPECT_GT(buffer.size(), before);
    }
  }
}

}  // namespace
}  // namespace verbena::transport
