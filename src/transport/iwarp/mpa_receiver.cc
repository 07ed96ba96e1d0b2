#include "transport/iwarp/mpa_receiver.h"

#include "base/check.h"
#include "wire/iwarp/mpa_fpdu.h"

namespace verbena::transport {

using wire::FpduHeader;
using wire::MpaMarker;
using wire::StreamOffset;

namespace {

// The longest frame: one that begins with a marker.
size_t FrameMax() { return wire::FpduSizeWithMarkers(wire::kUlpduMax, StreamOffset(0)); }

}  // namespace

MpaReceiver::MpaReceiver(const StreamConfig& config) : config_(config) {
  if (config.receive_markers) scratch_.reserve(FrameMax());
}

std::optional<size_t> MpaReceiver::SizeOf(StreamOffset start,
                                          std::span<const std::byte> bytes) const {
  const bool has_marker = config_.receive_markers && wire::IsMarkerPosition(start);
  const size_t skipped = has_marker ? MpaMarker::kSize : 0;
  if (bytes.size() < skipped) return std::nullopt;
  const auto header = FpduHeader::Parse(bytes.subspan(skipped));
  if (!header) return std::nullopt;
  return config_.receive_markers ? wire::FpduSizeWithMarkers(header->ulpdu_length, start)
                                 : wire::FpduContentSize(header->ulpdu_length);
}

MpaReceiver::Result MpaReceiver::Find(std::span<std::byte> bytes) {
  if (config_.framing == StreamFraming::kRecords) {
    const auto record = RecordAt(next_, bytes);
    return record ? Result{Outcome::kFrame, *record} : Result{};
  }
  size_t size = 0;
  std::span<std::byte> content;
  if (is_checked_) {
    // Its length field is in front, where the first marker was.
    const auto header = FpduHeader::Parse(bytes);
    CHECK(header.has_value());
    size = config_.receive_markers ? wire::FpduSizeWithMarkers(header->ulpdu_length, next_)
                                   : wire::FpduContentSize(header->ulpdu_length);
    CHECK(size <= bytes.size());
    content = bytes.first(wire::FpduContentSize(header->ulpdu_length));
  } else {
    const auto found = SizeOf(next_, bytes);
    if (!found) return {};
    size = *found;
    if (size > FrameMax()) return {Outcome::kBadMarker};
    if (size > bytes.size()) return {};
    content = bytes.first(size);
    if (config_.crc && !wire::HasGoodCrc(content)) return {Outcome::kBadCrc};
    if (config_.receive_markers) {
      const auto removed = wire::RemoveMarkers(content, next_);
      if (!removed) return {Outcome::kBadMarker};
      content = *removed;
    }
    is_checked_ = true;
  }
  const size_t length = FpduHeader::Parse(content)->ulpdu_length;
  return {
      Outcome::kFrame,
      {.start = next_, .end = next_ + size, .ulpdu = content.subspan(FpduHeader::kSize, length)}};
}

// The layer below has checked the bytes.
std::optional<InboundFrame> MpaReceiver::RecordAt(StreamOffset start,
                                                  std::span<const std::byte> bytes) {
  const auto header = FpduHeader::Parse(bytes);
  if (!header) return std::nullopt;
  const size_t size = FpduHeader::kSize + header->ulpdu_length;
  if (size > bytes.size()) return std::nullopt;
  return InboundFrame{.start = start,
                      .end = start + 1,
                      .ulpdu = bytes.subspan(FpduHeader::kSize, header->ulpdu_length)};
}

void MpaReceiver::Deliver(const InboundFrame& frame) {
  CHECK(frame.start == next_);
  next_ = frame.end;
  is_checked_ = false;
}

// A marker points back to the length field of its frame, or stands in front of it. The frames in
// front of the first one that is found so belong to a frame whose beginning is elsewhere.
std::optional<StreamOffset> MpaReceiver::FirstFrame(StreamOffset at,
                                                    std::span<const std::byte> bytes) {
  for (StreamOffset marker_at = wire::MarkerAtOrAfter(at);
       BytesBetween(at, marker_at) + MpaMarker::kSize <= bytes.size();
       marker_at = marker_at + MpaMarker::kInterval) {
    const auto marker = MpaMarker::Parse(bytes.subspan(BytesBetween(at, marker_at)));
    if (marker->fpdu_pointer == 0) return marker_at;
    if (marker->fpdu_pointer > BytesBetween(at, marker_at)) continue;
    const StreamOffset length_at(marker_at.value() - marker->fpdu_pointer);
    // A frame that begins with a marker begins there.
    const bool begins_with_marker = length_at.value() % MpaMarker::kInterval == MpaMarker::kSize;
    if (!begins_with_marker) return length_at;
    if (BytesBetween(at, length_at) < MpaMarker::kSize) continue;
    return StreamOffset(length_at.value() - MpaMarker::kSize);
  }
  return std::nullopt;
}

std::optional<InboundFrame> MpaReceiver::EarlyFrame(StreamOffset start,
                                                    std::span<const std::byte> bytes) {
  const auto size = SizeOf(start, bytes);
  if (!size || *size > bytes.size() || *size > scratch_.capacity()) return std::nullopt;
  const auto frame = bytes.first(*size);
  if (config_.crc && !wire::HasGoodCrc(frame)) return std::nullopt;
  // The bytes arrive again in order, and must not change.
  scratch_.assign(frame.begin(), frame.end());
  const auto content = wire::RemoveMarkers(scratch_, start);
  if (!content) return std::nullopt;
  const size_t length = FpduHeader::Parse(*content)->ulpdu_length;
  return InboundFrame{
      .start = start, .end = start + *size, .ulpdu = content->subspan(FpduHeader::kSize, length)};
}

}  // namespace verbena::transport
