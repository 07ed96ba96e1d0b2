#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "queue/completion.h"
#include "transport/common/async_event.h"
#include "transport/common/verdict.h"
#include "wire/iwarp/terminate_code.h"

namespace verbena::transport {

// Why a stream is terminated, apart from the reasons that other services have as well (NakReason).
enum class StreamError : uint8_t {
  // MPA
  kCrc,
  kMarker,
  // DDP
  kSegmentTooShort,  // for its headers, or for the body of its message
  kDdpVersion,
  kQueueNumber,
  kNoReceive,      // no receive request is posted for the message
  kNoReadEntry,    // the queue of read requests is full
  kMsnRange,       // not the next message of its queue
  kMessageOffset,  // not the next bytes of the message
  kOffsetWraps,    // a tagged offset and the length exceed 2^64
  kNoSuchRead,     // a response to no outstanding read
  kReadBounds,     // a response with bytes that were not asked for
  kSecondTouch,    // a second message with a one-touch key, or a part of it
  // RDMAP
  kRdmapVersion,
  kUnexpectedOpcode,
  kBadAtomic,       // an operation that does not exist
  kNotAllowedOnQp,  // a kind of RDMA for which this QP is not enabled
};
inline constexpr size_t kStreamErrorCount = static_cast<size_t>(StreamError::kNotAllowedOnQp) + 1;

[[nodiscard]] const char* NameOf(StreamError error);

using TerminateReason = std::variant<StreamError, NakReason>;

[[nodiscard]] const char* NameOf(const TerminateReason& reason);

// The segment that is refused.
enum class SegmentKind : uint8_t { kTagged, kUntagged, kReadRequest };

// The consequences of a refusal. (RFC 5040, 7; RFC 5041, 7; RFC 5044, 8)
struct Termination {
  wire::TerminateCode code{};
  // Of the receive request in progress, if there is one.
  CompletionStatus receive_status = CompletionStatus::kFlushed;
  // Raised if there is no receive request to complete.
  std::optional<AsyncEventType> event = {};

  friend bool operator==(const Termination&, const Termination&) = default;
};

[[nodiscard]] Termination TerminationOf(const TerminateReason& reason, SegmentKind segment);

// What a Terminate message of the peer means for the element that it names.
[[nodiscard]] CompletionStatus StatusOf(wire::TerminateCode code);

}  // namespace verbena::transport
