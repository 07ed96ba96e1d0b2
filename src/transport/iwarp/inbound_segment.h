#pragma once

#include <optional>
#include <span>

#include "memory/protection/one_touch.h"
#include "transport/iwarp/terminate_reason.h"
#include "wire/iwarp/types.h"

namespace verbena::transport {

// Where the payload of a segment is in the stream, and what became of it before.
struct SegmentPlace {
  wire::StreamOffset end;  // of its frame
  bool is_placed = false;  // when it arrived ahead of the stream

  // As the tables number the bytes of a stream.
  [[nodiscard]] memory::StreamNumber last_byte() const { return next() - 1; }
  [[nodiscard]] memory::StreamNumber next() const {
    return memory::StreamNumber(static_cast<uint32_t>(end.value()));
  }
};

// nullopt: the segment is delivered. kPagesAbsent: it waits for pages, and must be given again.
// Otherwise the stream is terminated.
using SegmentOutcome = std::optional<TerminateReason>;

[[nodiscard]] inline bool IsWait(const SegmentOutcome& outcome) {
  return outcome == TerminateReason(NakReason(ResponderError::kPagesAbsent));
}

// What an attempt to send a frame has led to.
enum class FrameSent : uint8_t {
  kSent,
  kNothing,  // nothing is to be sent now
  kNoRoom,   // in the send buffer
};

}  // namespace verbena::transport
