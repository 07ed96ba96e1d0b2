#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/iwarp/iwarp_config.h"
#include "transport/iwarp/send_buffer.h"
#include "wire/iwarp/types.h"

namespace verbena::transport {

// Frames the segments of one direction of a stream, straight in its send buffer: the caller writes
// the segment where it is sent from, so that a payload is copied once. A frame that was begun and
// not ended has no effect.
//
// There is always room for one more frame of kReserve bytes, so that a Terminate message never
// waits.
//
// Does not own the buffer. Owned by its queue pair; used by one thread at a time.
class MpaSender {
 public:
  static constexpr size_t kReserve = 128;

  MpaSender(const StreamConfig& config, SendBuffer& out);

  [[nodiscard]] uint16_t ulpdu_max() const { return config_.ulpdu_max; }

  // Begins a frame. False if there is no room now. REQUIRES: 0 < size <= ulpdu_max().
  [[nodiscard]] bool Begin(size_t size) { return Begin(size, kReserve); }
  // The same for the last frame, which uses the reserve. REQUIRES: 0 < size <= kUlpduReserved.
  void BeginLast(size_t size);
  static constexpr size_t kUlpduReserved = 80;

  // Where the segment of the frame that was begun is to be written.
  [[nodiscard]] std::span<std::byte> ulpdu() const { return ulpdu_; }
  // Ends the frame, and adds it to the stream.
  void End();

  // Adds a frame without a segment. (RFC 6581, 4.1: RTR) False if there is no room now.
  [[nodiscard]] bool SendEmpty();

  // The position in the stream of the next frame.
  [[nodiscard]] wire::StreamOffset offset() const { return offset_; }

 private:
  bool Begin(size_t size, size_t reserve);
  size_t FrameSize(size_t ulpdu_size) const;

  const StreamConfig config_;
  SendBuffer& out_;
  wire::StreamOffset offset_;
  std::span<std::byte> frame_;
  std::span<std::byte> ulpdu_;
};

}  // namespace verbena::transport
