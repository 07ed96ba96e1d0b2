#include "wire/iwarp/mpa_fpdu.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

using Bytes = std::vector<std::byte>;

// A frame with bytes 1, 2, 3, ... as its ULPDU.
Bytes ContentOf(uint16_t ulpdu_length) {
  Bytes content(FpduContentSize(ulpdu_length));
  FpduHeader{.ulpdu_length = ulpdu_length}.Serialize(content);
  for (size_t i = 0; i < ulpdu_length; ++i) {
    content[FpduHeader::kSize + i] = static_cast<std::byte>(i + 1);
  }
  return content;
}

Bytes WithMarkers(uint16_t ulpdu_length, StreamOffset start) {
  Bytes frame = ContentOf(ulpdu_length);
  frame.resize(FpduSizeWithMarkers(ulpdu_length, start));
  InsertMarkers(frame, start);
  return frame;
}

uint16_t PointerIn(const Bytes& frame, size_t at) {
  return MpaMarker::Parse(std::span(frame).subspan(at))->fpdu_pointer;
}

TEST(FpduHeaderTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(FpduHeader{.ulpdu_length = 0x0102}, "0102");
  EXPECT_EQ(ToString(FpduHeader{.ulpdu_length = 20}), "FPDU length 20");
}

TEST(MpaMarkerTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(MpaMarker{.fpdu_pointer = 0x0304}, "00000304");
  EXPECT_EQ(ToString(MpaMarker{.fpdu_pointer = 8}), "marker FPDUPTR 8");
}

TEST(MpaMarkerTest, IgnoresReservedBits) {
  EXPECT_EQ(MpaMarker::Parse(FromHex("ffff0010")), MpaMarker{.fpdu_pointer = 16});
}

TEST(MpaFpduTest, IsPaddedToWords) {
  EXPECT_EQ(FpduContentSize(0), 8);
  EXPECT_EQ(FpduContentSize(2), 8);
  EXPECT_EQ(FpduContentSize(3), 12);
  EXPECT_EQ(FpduContentSize(6), 12);
  EXPECT_EQ(FpduContentSize(kUlpduMax), 64'776);
}

// The check value of CRC-32C, and iSCSI's order of its bytes (RFC 3720, B.4).
TEST(MpaFpduTest, HasTheCrcOfISCSI) {
  Bytes frame(32 + kFpduCrcSize);
  SealFpdu(frame, true);
  EXPECT_EQ(Bytes(frame.end() - 4, frame.end()), FromHex("aa36918a"));
  std::ranges::fill(std::span(frame).first(32), std::byte{0xFF});
  SealFpdu(frame, true);
  EXPECT_EQ(Bytes(frame.end() - 4, frame.end()), FromHex("43aba862"));
}

TEST(MpaFpduTest, NoticesEveryBitThatChanges) {
  Bytes frame = ContentOf(20);
  SealFpdu(frame, true);
  ASSERT_TRUE(HasGoodCrc(frame));
  for (size_t bit = 0; bit < frame.size() * 8; ++bit) {
    Bytes changed = frame;
    changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(HasGoodCrc(changed)) << bit;
  }
  EXPECT_FALSE(HasGoodCrc(std::span(frame).first(7)));
}

TEST(MpaFpduTest, HasZeroInPlaceOfACrcThatIsNotUsed) {
  Bytes frame = ContentOf(20);
  std::ranges::fill(std::span(frame).last(4), std::byte{0xFF});
  SealFpdu(frame, false);
  EXPECT_EQ(Bytes(frame.end() - 4, frame.end()), FromHex("00000000"));
}

TEST(MpaFpduTest, AFrameAtAMarkerBeginsWithIt) {
  const Bytes frame = WithMarkers(20, StreamOffset(1024));
  ASSERT_EQ(frame.size(), FpduContentSize(20) + 4);
  EXPECT_EQ(PointerIn(frame, 0), 0);
  EXPECT_EQ(FpduHeader::Parse(std::span(frame).subspan(4))->ulpdu_length, 20);
}

// RFC 5044, 4.3: from the length field to the marker, and so 508 in a frame that begins with one.
TEST(MpaFpduTest, MarkersPointToTheLengthField) {
  const Bytes at_marker = WithMarkers(1000, StreamOffset(0));
  EXPECT_EQ(PointerIn(at_marker, 512), 508);
  const Bytes before = WithMarkers(1000, StreamOffset(500));
  EXPECT_EQ(PointerIn(before, 12), 12);
  EXPECT_EQ(PointerIn(before, 12 + 512), 12 + 512);
}

TEST(MpaFpduTest, AMarkerBehindTheFrameIsOfTheNextOne) {
  EXPECT_EQ(FpduSizeWithMarkers(20, StreamOffset(512 - 28)), 28);
  EXPECT_EQ(FpduSizeWithMarkers(20, StreamOffset(512 - 24)), 32);
}

TEST(MpaFpduTest, MarkersSurviveARoundTripAtEveryPosition) {
  for (const int bytes : {0, 1, 18, 500, 506, 507, 508, 1000, 2040, 5000}) {
    const auto length = static_cast<uint16_t>(bytes);
    const Bytes content = ContentOf(length);
    for (uint64_t start = 0; start <= 1024; start += 4) {
      Bytes frame = WithMarkers(length, StreamOffset(start));
      for (size_t at = 0; at < frame.size(); ++at) {
        if (!IsMarkerPosition(StreamOffset(start + at))) continue;
        ASSERT_EQ(PointerIn(frame, at), at == 0 ? 0 : at - (start % 512 == 0 ? 4 : 0));
      }
      const auto removed = RemoveMarkers(frame, StreamOffset(start));
      ASSERT_TRUE(removed.has_value()) << length << " at " << start;
      ASSERT_EQ(Bytes(removed->begin(), removed->end()), content) << length << " at " << start;
    }
  }
}

TEST(MpaFpduTest, RefusesAMarkerThatPointsElsewhere) {
  for (const size_t at : {12U, 524U}) {
    Bytes frame = WithMarkers(1000, StreamOffset(500));
    frame[at + 3] ^= std::byte{4};
    EXPECT_EQ(RemoveMarkers(frame, StreamOffset(500)), std::nullopt);
  }
}

// RFC 5044, 4.5: EMSS - (6 + 4 * ceiling(EMSS / 512) + EMSS mod 4).
TEST(MpaFpduTest, TheLargestUlpduFits) {
  EXPECT_EQ(LargestUlpdu(1460, false), 1454);
  EXPECT_EQ(LargestUlpdu(1461, false), 1454);
  EXPECT_EQ(LargestUlpdu(1460, true), 1442);
  EXPECT_EQ(LargestUlpdu(65'483, false), kUlpduMax);
  EXPECT_EQ(LargestUlpdu(8, false), 2);
  EXPECT_EQ(LargestUlpdu(6, false), 0);
  for (size_t size = 536; size < 3000; ++size) {
    const uint16_t largest = LargestUlpdu(size, true);
    for (uint64_t start = 0; start < 512; start += 4) {
      ASSERT_LE(FpduSizeWithMarkers(largest, StreamOffset(start)), size);
    }
  }
}

TEST(MpaFpduTest, FindsTheNextMarker) {
  EXPECT_EQ(MarkerAtOrAfter(StreamOffset(0)), StreamOffset(0));
  EXPECT_EQ(MarkerAtOrAfter(StreamOffset(1)), StreamOffset(512));
  EXPECT_EQ(MarkerAtOrAfter(StreamOffset(512)), StreamOffset(512));
}

}  // namespace
}  // namespace verbena::wire
