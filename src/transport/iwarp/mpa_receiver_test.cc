#include "transport/iwarp/mpa_receiver.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "transport/iwarp/mpa_sender.h"
#include "wire/iwarp/mpa_fpdu.h"

namespace verbena::transport {
namespace {

using Bytes = std::vector<std::byte>;
using Outcome = MpaReceiver::Outcome;
using wire::StreamOffset;

StreamConfig ConfigOf(bool markers, bool crc = true) {
  return {.send_markers = markers, .receive_markers = markers, .crc = crc, .ulpdu_max = 4000};
}

Bytes SegmentOf(size_t size, uint8_t first) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(first++);
  return bytes;
}

// What the frames of a stream are.
struct Sent {
  Bytes stream;
  std::vector<Bytes> segments;
  std::vector<StreamOffset> starts;
};

Sent Send(const StreamConfig& config, const std::vector<size_t>& sizes) {
  SendBuffer buffer(1 << 20);
  MpaSender sender(config, buffer);
  Sent sent;
  for (const size_t size : sizes) {
    sent.starts.push_back(sender.offset());
    sent.segments.push_back(SegmentOf(size, static_cast<uint8_t>(sent.segments.size() * 7)));
    EXPECT_TRUE(sender.Begin(size));
    std::ranges::copy(sent.segments.back(), sender.ulpdu().begin());
    sender.End();
  }
  for (const auto piece : buffer.bytes()) {
    sent.stream.insert(sent.stream.end(), piece.begin(), piece.end());
  }
  const bool has_records = config.framing == StreamFraming::kRecords;
  EXPECT_EQ(sender.offset(), StreamOffset(has_records ? sizes.size() : sent.stream.size()));
  return sent;
}

Bytes BytesOf(const InboundFrame& frame) { return {frame.ulpdu.begin(), frame.ulpdu.end()}; }

// Gives the stream in pieces, and keeps what was not taken.
std::vector<Bytes> Receive(const StreamConfig& config, Bytes stream, Random& random) {
  MpaReceiver receiver(config);
  std::vector<Bytes> found;
  size_t taken = 0;
  size_t arrived = 0;
  while (taken < stream.size()) {
    arrived = std::min<size_t>(stream.size(), arrived + 1 + random.Below(700));
    for (;;) {
      const auto result = receiver.Find(std::span(stream).subspan(taken, arrived - taken));
      if (result.outcome == Outcome::kIncomplete) break;
      EXPECT_EQ(result.outcome, Outcome::kFrame);
      if (result.outcome != Outcome::kFrame) return found;
      if (random.Chance(1, 4)) continue;  // waits for pages, and comes again
      found.push_back(BytesOf(result.frame));
      taken += config.framing == StreamFraming::kRecords
                   ? RecordSize(result.frame)
                   : BytesBetween(result.frame.start, result.frame.end);
      receiver.Deliver(result.frame);
    }
  }
  const bool has_records = config.framing == StreamFraming::kRecords;
  EXPECT_EQ(receiver.next(), StreamOffset(has_records ? found.size() : stream.size()));
  return found;
}

TEST(MpaReceiverTest, EveryFrameIsFoundOnceHoweverTheStreamIsCut) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    StreamConfig config = ConfigOf(random.Chance(1, 2), random.Chance(1, 2));
    if (random.Chance(1, 4)) config.framing = StreamFraming::kRecords;
    std::vector<size_t> sizes;
    for (int i = 0; i < 20; ++i) sizes.push_back(1 + random.Below(random.Chance(1, 3) ? 3000 : 50));
    const Sent sent = Send(config, sizes);
    ASSERT_EQ(Receive(config, sent.stream, random), sent.segments) << seed;
  }
}

TEST(MpaReceiverTest, ASingleEmptyFrameHasNoSegment) {
  SendBuffer buffer(1000);
  MpaSender sender(ConfigOf(true), buffer);
  ASSERT_TRUE(sender.SendEmpty());
  Bytes stream(buffer.bytes()[0].begin(), buffer.bytes()[0].end());
  MpaReceiver receiver(ConfigOf(true));
  const auto result = receiver.Find(stream);
  ASSERT_EQ(result.outcome, Outcome::kFrame);
  EXPECT_TRUE(result.frame.ulpdu.empty());
  EXPECT_EQ(result.frame.end, StreamOffset(stream.size()));
}

TEST(MpaReceiverTest, RefusesABadCrcUnlessThereIsNone) {
  Sent sent = Send(ConfigOf(false), {100});
  sent.stream[50] ^= std::byte{1};
  EXPECT_EQ(MpaReceiver(ConfigOf(false)).Find(sent.stream).outcome, Outcome::kBadCrc);
  EXPECT_EQ(MpaReceiver(ConfigOf(false, false)).Find(sent.stream).outcome, Outcome::kFrame);
}

TEST(MpaReceiverTest, RefusesAMarkerThatPointsElsewhere) {
  Sent sent = Send(ConfigOf(true, false), {1000});
  sent.stream[512 + 3] ^= std::byte{4};
  EXPECT_EQ(MpaReceiver(ConfigOf(true, false)).Find(sent.stream).outcome, Outcome::kBadMarker);
}

TEST(MpaReceiverTest, RefusesALengthThatNoFrameHas) {
  Bytes stream(10, std::byte{0xFF});
  EXPECT_EQ(MpaReceiver(ConfigOf(false)).Find(stream).outcome, Outcome::kBadMarker);
}

// Behind a gap.

std::vector<std::pair<StreamOffset, Bytes>> Early(const StreamConfig& config, const Sent& sent,
                                                  size_t from, size_t to) {
  MpaReceiver receiver(config);
  std::vector<std::pair<StreamOffset, Bytes>> found;
  receiver.FindEarly(
      StreamOffset(from), std::span(sent.stream).subspan(from, to - from),
      [&](const InboundFrame& frame) { found.emplace_back(frame.start, BytesOf(frame)); });
  return found;
}

TEST(MpaReceiverTest, FindsOnlyWholeFramesInAnyPieceBehindAGap) {
  const StreamConfig config = ConfigOf(true);
  const Sent sent = Send(config, {300, 700, 40, 508, 1500, 20, 20, 900, 504, 600});
  size_t found_count = 0;
  for (size_t from = 4; from < sent.stream.size(); from += 4) {
    for (size_t to = from + 4; to <= sent.stream.size(); to += 116) {
      for (const auto& [start, bytes] : Early(config, sent, from, to)) {
        const auto it = std::ranges::find(sent.starts, start);
        ASSERT_NE(it, sent.starts.end()) << from << " to " << to;
        ASSERT_EQ(bytes, sent.segments.at(static_cast<size_t>(it - sent.starts.begin())));
        ++found_count;
      }
    }
  }
  EXPECT_GT(found_count, 1000);
}

TEST(MpaReceiverTest, FindsTheFrameThatAPieceBeginsWithIfItHasAMarker) {
  const StreamConfig config = ConfigOf(true);
  const Sent sent = Send(config, {300, 700, 40});
  const size_t from = sent.starts[1].value();
  const auto found = Early(config, sent, from, sent.stream.size());
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].second, sent.segments[1]);
  EXPECT_EQ(found[1].second, sent.segments[2]);
}

TEST(MpaReceiverTest, FindsTheFrameThatBeginsWithAMarker) {
  const StreamConfig config = ConfigOf(true);
  // The first frame has 512 bytes: marker, length, 502 bytes, CRC.
  const Sent sent = Send(config, {502, 700});
  ASSERT_EQ(sent.starts[1], StreamOffset(512));
  const auto found = Early(config, sent, 512, sent.stream.size());
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].second, sent.segments[1]);
  EXPECT_TRUE(Early(config, sent, 516, sent.stream.size()).empty());
}

TEST(MpaReceiverTest, LeavesTheBytesOfAnEarlyFrameAlone) {
  const StreamConfig config = ConfigOf(true);
  const Sent sent = Send(config, {300, 700, 40});
  Sent copy = sent;
  Early(config, copy, sent.starts[1].value(), sent.stream.size());
  EXPECT_EQ(copy.stream, sent.stream);
}

TEST(MpaReceiverTest, PassesOverAnEarlyFrameWithABadCrc) {
  const StreamConfig config = ConfigOf(true);
  Sent sent = Send(config, {300, 700, 40});
  sent.stream[sent.starts[1].value() + 20] ^= std::byte{1};
  EXPECT_TRUE(Early(config, sent, sent.starts[1].value(), sent.stream.size()).empty());
}

TEST(MpaReceiverTest, FindsNothingBehindAGapWithoutMarkers) {
  const Sent sent = Send(ConfigOf(false), {300, 700, 40});
  EXPECT_TRUE(Early(ConfigOf(false), sent, sent.starts[1].value(), sent.stream.size()).empty());
}

}  // namespace
}  // namespace verbena::transport
