#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "memory/refusal.h"
#include "queue/completion.h"
#include "transport/common/async_event.h"
#include "wire/roce/syndrome.h"

namespace verbena::transport {

// Why a responder does not execute a request, apart from refusals of the memory tables.
enum class ResponderError : uint8_t {
  // The peer retransmits the request, and it may be executed then.
  kSequenceGap,       // packets before it are missing
  kReceiverNotReady,  // no receive request is posted
  kPagesAbsent,       // they were requested
  // The request is malformed.
  kOpcodeOutOfSequence,  // a middle without a first, or a first within a message
  kNotAllowedOnQp,       // a kind of RDMA for which this QP is not enabled
  kNoSuchReceiver,       // the XRC domain has no shared receive queue of that number
  kTooManyOutstanding,   // reads and atomics, above max_dest_rd_atomic
  kBadLength,            // payload, path MTU and DMA length do not match
  kReservedFlush,        // placement or selectivity that the specification reserves
  kMisaligned,           // an address of 8 bytes that is not a multiple of 8
  kMessageTooLong,       // for the receive request
  // The request is well-formed, and the peer may not do it.
  kNoPersistence,     // no region of this adapter is persistent
  kPagesUnavailable,  // the pages of a request cannot be paged in
  // The error is on the responder's side.
  kReceiveBufferRefused,  // the list of the receive request names memory that cannot be used
  kCompletionQueueError,  // the completion queue had no room
  kOwnWorkFailed,         // a registration of this queue pair has failed
};
inline constexpr size_t kResponderErrorCount =
    static_cast<size_t>(ResponderError::kOwnWorkFailed) + 1;

const char* NameOf(ResponderError error);

// Whose key the memory tables refuse.
enum class RefusedKey : uint8_t {
  kPeers,        // in a request of the peer
  kOwn,          // in a work request of this side
  kInvalidated,  // to be invalidated by a send of the peer: unknown, or not for the peer to
                 // invalidate
};

// A reason of the transport, or a refusal of the memory tables. One byte, because every check of
// every packet may return one.
class NakReason {
 public:
  // NOLINTBEGIN(google-explicit-constructor): either converts to a reason.
  constexpr NakReason(ResponderError error) : code_(static_cast<uint8_t>(error)) {}
  constexpr NakReason(memory::Refusal refusal, RefusedKey key = RefusedKey::kPeers)
      : code_(static_cast<uint8_t>((static_cast<unsigned>(key) + 1) << kKeyShift |
                                   static_cast<unsigned>(refusal))) {}
  // NOLINTEND(google-explicit-constructor)

  constexpr bool is_refusal() const { return code_ >> kKeyShift != 0; }
  // REQUIRES: it is a refusal of the memory tables.
  constexpr memory::Refusal refusal() const {
    return static_cast<memory::Refusal>(code_ & kValueMask);
  }
  constexpr RefusedKey key() const { return static_cast<RefusedKey>((code_ >> kKeyShift) - 1); }
  // REQUIRES: it is a reason of the transport.
  constexpr ResponderError error() const { return static_cast<ResponderError>(code_); }

  friend constexpr bool operator==(NakReason, NakReason) = default;

 private:
  static constexpr unsigned kKeyShift = 6;
  static constexpr uint8_t kValueMask = (1U << kKeyShift) - 1;
  static_assert(kResponderErrorCount <= kValueMask);
  static_assert(static_cast<unsigned>(memory::Refusal::kWraps) <= kValueMask);

  uint8_t code_;
};

const char* NameOf(NakReason reason);

enum class QpEffect : uint8_t { kNone, kError };

// The consequences of a refusal. (IBA 9.9.3)
struct Verdict {
  std::optional<wire::NakCode> nak;  // nullopt: an RNR NAK...
  bool is_silent = false;            // ...or no response at all
  // Of the receive request in progress, if there is one. On kSuccess, it stays in progress.
  CompletionStatus receive_status = CompletionStatus::kSuccess;
  QpEffect effect = QpEffect::kNone;
  // Raised if there is no receive request to complete.
  std::optional<AsyncEventType> event = {};

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

[[nodiscard]] Verdict VerdictOf(NakReason reason);

// The refusal that ended a connection.
struct FatalRefusal {
  NakReason reason;
  Verdict verdict;

  friend bool operator==(const FatalRefusal&, const FatalRefusal&) = default;
};

}  // namespace verbena::transport
