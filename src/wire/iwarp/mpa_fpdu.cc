#include "wire/iwarp/mpa_fpdu.h"

#include <algorithm>
#include <cstring>

#include <isa-l/crc.h>

#include "base/check.h"

namespace verbena::wire {
namespace {

constexpr std::size_t kBetweenMarkers = MpaMarker::kInterval - MpaMarker::kSize;

// CRC-32C as iSCSI has it, of all bytes but the last four.
uint32_t CrcOf(std::span<const std::byte> frame) {
  const auto covered = frame.first(frame.size() - kFpduCrcSize);
  // The library takes a pointer to bytes that it could change.
  auto* const bytes =
      const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(covered.data()));
  return ~crc32_iscsi(bytes, static_cast<int>(covered.size()), ~uint32_t{0});
}

// Where the length field is: behind a marker that begins the frame.
std::size_t LengthFieldOf(StreamOffset start) {
  return IsMarkerPosition(start) ? MpaMarker::kSize : 0;
}

// What the marker at `at` in a frame says.
uint16_t PointerAt(std::size_t at, StreamOffset start) {
  return at == 0 ? uint16_t{0} : static_cast<uint16_t>(at - LengthFieldOf(start));
}

}  // namespace

std::size_t FpduSizeWithMarkers(std::size_t ulpdu_length, StreamOffset start) {
  const std::size_t content = FpduContentSize(ulpdu_length);
  const std::size_t before = BytesBetween(start, MarkerAtOrAfter(start));
  if (before >= content) return content;
  const std::size_t markers = (content - before + kBetweenMarkers - 1) / kBetweenMarkers;
  return content + markers * MpaMarker::kSize;
}

uint16_t LargestUlpdu(std::size_t size, bool with_markers) {
  // The most markers that so many bytes can have.
  const std::size_t markers =
      with_markers ? (size + MpaMarker::kInterval - 1) / MpaMarker::kInterval : 0;
  const std::size_t overhead = FpduHeader::kSize + kFpduCrcSize + markers * MpaMarker::kSize;
  const std::size_t aligned = size / 4 * 4;
  if (aligned <= overhead) return 0;
  return static_cast<uint16_t>(std::min<std::size_t>(aligned - overhead, kUlpduMax));
}

void InsertMarkers(std::span<std::byte> frame, StreamOffset start) {
  const std::size_t first = BytesBetween(start, MarkerAtOrAfter(start));
  if (first >= frame.size()) return;
  const std::size_t count = (frame.size() - first - 1) / MpaMarker::kInterval + 1;
  // From the last marker to the first, because bytes move towards the end.
  std::size_t end = frame.size();
  for (std::size_t i = count; i > 0; --i) {
    const std::size_t at = first + (i - 1) * MpaMarker::kInterval;
    const std::size_t moved = end - at - MpaMarker::kSize;
    const std::size_t from = at - (i - 1) * MpaMarker::kSize;
    std::memmove(&frame[at] + MpaMarker::kSize, &frame[from], moved);
    MpaMarker{.fpdu_pointer = PointerAt(at, start)}.Serialize(frame.subspan(at));
    end = at;
  }
}

std::optional<std::span<std::byte>> RemoveMarkers(std::span<std::byte> frame, StreamOffset start) {
  const std::size_t first = BytesBetween(start, MarkerAtOrAfter(start));
  std::size_t kept = std::min(first, frame.size());
  for (std::size_t at = first; at < frame.size(); at += MpaMarker::kInterval) {
    const auto marker = MpaMarker::Parse(frame.subspan(at));
    if (!marker || marker->fpdu_pointer != PointerAt(at, start)) return std::nullopt;
    const std::size_t from = at + MpaMarker::kSize;
    const std::size_t run = std::min(frame.size() - from, kBetweenMarkers);
    std::memmove(frame.data() + kept, frame.data() + from, run);
    kept += run;
  }
  return frame.first(kept);
}

void SealFpdu(std::span<std::byte> frame, bool with_crc) {
  CHECK(frame.size() >= FpduContentSize(0));
  const uint32_t crc = with_crc ? CrcOf(frame) : 0;
  // As in iSCSI, the lowest byte comes first.
  ByteWriter<kFpduCrcSize>(frame.last(kFpduCrcSize)).Store32<0>(__builtin_bswap32(crc));
}

bool HasGoodCrc(std::span<const std::byte> frame) {
  if (frame.size() < FpduContentSize(0)) return false;
  const auto reader = ByteReader<kFpduCrcSize>::From(frame.last(kFpduCrcSize));
  return __builtin_bswap32(reader->Load32<0>()) == CrcOf(frame);
}

}  // namespace verbena::wire
