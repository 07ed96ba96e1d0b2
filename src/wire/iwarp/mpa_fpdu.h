#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/iwarp/types.h"

// MPA's frames (RFC 5044, 4): a framed PDU carries one DDP segment (ULPDU) in a byte stream.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |         ULPDU Length          |                               |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+                               +
//   ~                             ULPDU                             ~
//   +                               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                               |      Pad (0-3 bytes)          |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                             CRC-32C                           |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// With markers, the four bytes at each multiple of 512 of the stream say how far back the length
// field of their frame is, so that a receiver finds frames behind a gap. They are part of the
// frame, and its CRC covers them; the length does not count them.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |           Reserved            |            FPDUPTR            |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A marker at the position of a length field comes before it: the frame begins with the marker.

namespace verbena::wire {

// The field in front of the ULPDU. A value type.
struct FpduHeader {
  static constexpr std::size_t kSize = 2;

  uint16_t ulpdu_length = 0;

  [[nodiscard]] static std::optional<FpduHeader> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return FpduHeader{.ulpdu_length = reader->Load16<0>()};
  }
  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize>(bytes).Store16<0>(ulpdu_length);
  }

  friend bool operator==(const FpduHeader&, const FpduHeader&) = default;
};

// A value type.
struct MpaMarker {
  static constexpr std::size_t kSize = 4;
  static constexpr std::size_t kInterval = 512;  // from marker to marker

  uint16_t fpdu_pointer = 0;  // bytes from the length field to the marker; 0 if it comes before

  [[nodiscard]] static std::optional<MpaMarker> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return MpaMarker{.fpdu_pointer = reader->Load16<2>()};
  }
  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store16<0>(0);
    writer.Store16<2>(fpdu_pointer);
  }

  friend bool operator==(const MpaMarker&, const MpaMarker&) = default;
};

[[nodiscard]] std::string ToString(const FpduHeader& header);
[[nodiscard]] std::string ToString(const MpaMarker& marker);

inline constexpr std::size_t kFpduCrcSize = 4;
// RFC 5044, 4.5: so that FPDUPTR has 16 bits.
inline constexpr uint16_t kUlpduMax = 64'768;

// The bytes of a frame without markers.
[[nodiscard]] constexpr std::size_t FpduContentSize(std::size_t ulpdu_length) {
  return (FpduHeader::kSize + ulpdu_length + 3) / 4 * 4 + kFpduCrcSize;
}

[[nodiscard]] constexpr bool IsMarkerPosition(StreamOffset offset) {
  return offset.value() % MpaMarker::kInterval == 0;
}
// The first marker at or after `offset`.
[[nodiscard]] constexpr StreamOffset MarkerAtOrAfter(StreamOffset offset) {
  return StreamOffset((offset.value() + MpaMarker::kInterval - 1) / MpaMarker::kInterval *
                      MpaMarker::kInterval);
}

// The bytes of a frame that begins at `start`, with its markers.
[[nodiscard]] std::size_t FpduSizeWithMarkers(std::size_t ulpdu_length, StreamOffset start);

// The largest ULPDU whose frame has at most `size` bytes, wherever it begins. 0 if there is none.
// (RFC 5044, 4.5: MULPDU)
[[nodiscard]] uint16_t LargestUlpdu(std::size_t size, bool with_markers);

// Spreads the content of a frame, which stands at the beginning of `frame`, and puts the markers in
// between. REQUIRES: `frame` has the size with markers; its CRC is not computed yet.
void InsertMarkers(std::span<std::byte> frame, StreamOffset start);

// The reverse: moves the content to the beginning of `frame`, and returns it. nullopt if a marker
// is wrong; some bytes may have moved then.
[[nodiscard]] std::optional<std::span<std::byte>> RemoveMarkers(std::span<std::byte> frame,
                                                                StreamOffset start);

// Writes the CRC at the end of the frame, or 0 if the connection uses none. (RFC 5044, 4.4)
void SealFpdu(std::span<std::byte> frame, bool with_crc);
[[nodiscard]] bool HasGoodCrc(std::span<const std::byte> frame);

}  // namespace verbena::wire
