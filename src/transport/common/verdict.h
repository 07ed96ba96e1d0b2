#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "memory/refusal.h"
#include "queue/completion.h"
#include "transport/common/async_event.h"
#include "wire/roce/syndrome.h"

namespace verbena::transport {

// Why a responder does not execute a request, beside what the tables of memory refuse.
enum class ResponderError : uint8_t {
  // The peer sends it again, and then it may be executed.
  kSequenceGap,       // packets before it are missing
  kReceiverNotReady,  // no receive request is posted
  kPagesAbsent,       // they were asked for
  // The request is not a proper one.
  kOpcodeOutOfSequence,  // a middle without a first, a first in the middle
  kNotAllowedOnQp,       // a kind of RDMA for which this QP is not enabled
  kNoSuchReceiver,       // the XRC domain has no shared receive queue of that number
  kTooManyOutstanding,   // reads and atomics, above max_dest_rd_atomic
  kBadLength,            // payload, path MTU and DMA length do not fit each other
  kReservedFlush,        // placement or selectivity that the specification does not define
  kMisaligned,           // 8 bytes that must lie on a multiple of 8
  kMessageTooLong,       // for the receive request
  // The request is proper, and the peer may not.
  kNoPersistence,     // no region here can promise it
  kPagesUnavailable,  // the pages of a request cannot be had
  // The fault is on this side.
  kReceiveBufferRefused,  // the list of the receive request names memory that is not to be had
  kCompletionQueueError,  // the completion had no room
  kOwnWorkFailed,         // a registration of this side has ended the connection
};
inline constexpr size_t kResponderErrorCount =
    static_cast<size_t>(ResponderError::kOwnWorkFailed) + 1;

const char* NameOf(ResponderError error);

// Whose key the tables refuse.
enum class RefusedKey : uint8_t {
  kPeers,        // of a request of the peer
  kOwn,          // of a work request of this side
  kInvalidated,  // that a send of the peer was to end: not the peer's to end, or not there
};

// A reason of the transport's, or a refusal of the tables. One byte, because every step of every
// packet may answer with one.
class NakReason {
 public:
  // NOLINTBEGIN(google-explicit-constructor): either is a cause as it is.
  constexpr NakReason(ResponderError error) : code_(static_cast<uint8_t>(error)) {}
  constexpr NakReason(memory::Refusal refusal, RefusedKey key = RefusedKey::kPeers)
      : code_(static_cast<uint8_t>((static_cast<unsigned>(key) + 1) << kKeyShift |
                                   static_cast<unsigned>(refusal))) {}
  // NOLINTEND(google-explicit-constructor)

  constexpr bool is_refusal() const { return code_ >> kKeyShift != 0; }
  // REQUIRES: it is one.
  constexpr memory::Refusal refusal() const {
    return static_cast<memory::Refusal>(code_ & kValueMask);
  }
  constexpr RefusedKey key() const { return static_cast<RefusedKey>((code_ >> kKeyShift) - 1); }
  // REQUIRES: it is none.
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

// What follows from a refusal. (IBA 9.9.3)
struct Verdict {
  std::optional<wire::NakCode> nak;  // none: an RNR NAK...
  bool is_silent = false;            // ...or no answer at all
  // Of the receive request in progress, if there is one. Success: it stays in progress.
  CompletionStatus receive_status = CompletionStatus::kSuccess;
  QpEffect effect = QpEffect::kNone;
  // Raised when no receive request tells the program.
  std::optional<AsyncEventType> event = {};

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

[[nodiscard]] Verdict VerdictOf(NakReason reason);

// The one refusal that ended a connection.
struct FatalRefusal {
  NakReason reason;
  Verdict verdict;

  friend bool operator==(const FatalRefusal&, const FatalRefusal&) = default;
};

}  // namespace verbena::transport
