#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/iwarp/iwarp_config.h"
#include "wire/iwarp/mpa_fpdu.h"
#include "wire/iwarp/types.h"

namespace verbena::transport {

// A frame in the stream of one direction.
struct InboundFrame {
  wire::StreamOffset start;
  wire::StreamOffset end;
  std::span<const std::byte> ulpdu;
};

// The bytes of a record.
[[nodiscard]] inline size_t RecordSize(const InboundFrame& record) {
  return wire::FpduHeader::kSize + record.ulpdu.size();
}

// Finds the frames in one direction of a stream, whose bytes arrive in pieces of any size. In
// order, each frame is reported once it is complete and its CRC is good. Behind a gap, markers lead
// to the frames of a piece (row B9). Records (SCTP) are whole, in order or not, and each is one
// position of the stream.
//
// Has no memory of its own but for one frame that arrives early: bytes that were not taken must be
// given again, and those of an incomplete frame with more behind them. Owned by
// its queue pair; used by one thread at a time.
class MpaReceiver {
 public:
  enum class Outcome : uint8_t {
    kFrame,
    kIncomplete,  // more bytes are needed
    kBadCrc,
    kBadMarker,  // or a length that no frame has
  };
  struct Result {
    Outcome outcome = Outcome::kIncomplete;
    InboundFrame frame = {};
  };

  explicit MpaReceiver(const StreamConfig& config);

  // All bytes before it are delivered.
  [[nodiscard]] wire::StreamOffset next() const { return next_; }

  // The frame at next(), where `bytes` begin. Its markers are removed in place: until Deliver, the
  // same bytes must be given again as they are then.
  [[nodiscard]] Result Find(std::span<std::byte> bytes);
  // The frame that Find has reported is delivered.
  void Deliver(const InboundFrame& frame);

  // Calls fn(frame) for each frame with a good CRC that can be found in `bytes`, which arrived
  // ahead of next() and inside of the window. Without markers none can be found.
  template <class Fn>
  void FindEarly(wire::StreamOffset at, std::span<const std::byte> bytes, Fn fn) {
    if (config_.framing == StreamFraming::kRecords) return FindEarlyRecords(at, bytes, fn);
    if (!config_.receive_markers) return;
    std::optional<wire::StreamOffset> start = FirstFrame(at, bytes);
    while (start) {
      const auto frame = EarlyFrame(*start, bytes.subspan(BytesBetween(at, *start)));
      if (!frame) return;
      if (!frame->ulpdu.empty()) fn(*frame);
      start = frame->end;
      if (BytesBetween(at, *start) >= bytes.size()) return;
    }
  }

 private:
  template <class Fn>
  static void FindEarlyRecords(wire::StreamOffset at, std::span<const std::byte> bytes, Fn fn) {
    while (const auto record = RecordAt(at, bytes)) {
      fn(*record);
      bytes = bytes.subspan(RecordSize(*record));
      at = record->end;
    }
  }
  static std::optional<InboundFrame> RecordAt(wire::StreamOffset start,
                                              std::span<const std::byte> bytes);
  // The bytes of the frame that begins at `start`, if its length is there.
  std::optional<size_t> SizeOf(wire::StreamOffset start, std::span<const std::byte> bytes) const;
  std::optional<InboundFrame> EarlyFrame(wire::StreamOffset start,
                                         std::span<const std::byte> bytes);
  static std::optional<wire::StreamOffset> FirstFrame(wire::StreamOffset at,
                                                      std::span<const std::byte> bytes);

  const StreamConfig config_;
  wire::StreamOffset next_;
  bool is_checked_ = false;         // the frame at next_: its CRC is good, its markers are removed
  std::vector<std::byte> scratch_;  // an early frame without its markers
};

}  // namespace verbena::transport
