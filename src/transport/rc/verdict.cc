#include "transport/rc/verdict.h"

#include "base/check.h"

namespace verbena::transport {
namespace {

using memory::Denial;
using queue::CompletionStatus;
using wire::NakCode;

constexpr Verdict kTryAgain = {.nak = NakCode::kPsnSequenceError};
constexpr Verdict kTryLater = {.nak = std::nullopt};

constexpr Verdict Fatal(NakCode nak, CompletionStatus receive_status, AsyncEventType event) {
  return {.nak = nak,
          .is_silent = false,
          .receive_status = receive_status,
          .effect = QpEffect::kError,
          .event = event};
}

constexpr Verdict kInvalidRequest =
    Fatal(NakCode::kInvalidRequest, CompletionStatus::kRemoteInvalidRequest,
          AsyncEventType::kQpRequestError);
constexpr Verdict kTooLong = Fatal(NakCode::kInvalidRequest, CompletionStatus::kLocalLengthError,
                                   AsyncEventType::kQpRequestError);
// A receive request that is in progress then is one of a write with immediate. IBA 11.6.2 has a
// status for it: "Local Access Error: a protection error occurred on a local data buffer during the
// processing of an RDMA Write with Immediate Data operation sent from the remote node".
constexpr Verdict kAccessError =
    Fatal(NakCode::kRemoteAccessError, CompletionStatus::kLocalAccessError,
          AsyncEventType::kQpAccessError);
// IBA 9.9.3, class J: the bytes of the send are in place, and what failed is a memory management
// operation of our own. The receive request tells; the peer gets no answer.
constexpr Verdict kInvalidateError = {.nak = std::nullopt,
                                      .is_silent = true,
                                      .receive_status = CompletionStatus::kWindowBindError,
                                      .effect = QpEffect::kError,
                                      .event = AsyncEventType::kQpAccessError};
constexpr Verdict kBadReceive =
    Fatal(NakCode::kRemoteOperationalError, CompletionStatus::kLocalProtectionError,
          AsyncEventType::kQpAccessError);
constexpr Verdict kLocalTrouble =
    Fatal(NakCode::kRemoteOperationalError, CompletionStatus::kLocalQpOperationError,
          AsyncEventType::kQpFatal);

// The completion of the work request tells this side, and its receive requests are flushed.
constexpr Verdict kOwnFailure = {.nak = NakCode::kRemoteOperationalError,
                                 .is_silent = false,
                                 .receive_status = CompletionStatus::kFlushed,
                                 .effect = QpEffect::kError,
                                 .event = std::nullopt};

// The table, first part.
Verdict RowOf(Reason reason) {
  switch (reason) {
    case Reason::kSequenceGap:
      return kTryAgain;
    case Reason::kReceiverNotReady:
    case Reason::kPagesAbsent:
      return kTryLater;
    case Reason::kOpcodeOutOfSequence:
    case Reason::kNotAllowedOnQp:
    case Reason::kNoSuchReceiver:
    case Reason::kTooManyOutstanding:
    case Reason::kBadLength:
    case Reason::kReservedFlush:
    case Reason::kMisaligned:
      return kInvalidRequest;
    case Reason::kMessageTooLong:
      return kTooLong;
    case Reason::kNoPersistence:
    case Reason::kPagesUnavailable:
      return kAccessError;
    case Reason::kReceiveBufferDenied:
      return kBadReceive;
    case Reason::kCompletionQueueError:
      return kLocalTrouble;
    case Reason::kOwnWorkFailed:
      return kOwnFailure;
  }
  UNREACHABLE();
}

// The table, second part: what the tables of memory refuse. IBA 9.9.3: all that is wrong with a
// remote key, its bounds or its rights is a remote access error. 9.4.5: an atomic that is not
// aligned is an invalid request.
Verdict RowOf(Denial denial) {
  switch (denial) {
    case Denial::kNoSuchKey:
    case Denial::kNotValid:
    case Denial::kSwappedOut:
    case Denial::kRegionNotValid:
    case Denial::kGuestGone:
    case Denial::kWrongType:
    case Denial::kWrongDomain:
    case Denial::kWrongQp:
    case Denial::kStaleInstance:
    case Denial::kOutOfRange:
    case Denial::kNoSegment:
    case Denial::kNoRight:
    case Denial::kOwnerHasNoRight:
    case Denial::kNotBindable:
    case Denial::kWrongCommand:
    case Denial::kSameInstance:
    case Denial::kStillInUse:
    case Denial::kNotInvalidable:
    case Denial::kTooManyPages:
    case Denial::kBadPageList:
    case Denial::kRightsTooWide:
    case Denial::kWraps:
      return kAccessError;
    case Denial::kMisaligned:
      return kInvalidRequest;
  }
  UNREACHABLE();
}

}  // namespace

Verdict VerdictOf(Cause cause) {
  if (!cause.is_denial()) return RowOf(cause.reason());
  switch (cause.key()) {
    case DeniedKey::kPeers:
      return RowOf(cause.denial());
    case DeniedKey::kOwn:
      return kBadReceive;
    case DeniedKey::kInvalidated:
      return kInvalidateError;
  }
  UNREACHABLE();
}

const char* NameOf(Reason reason) {
  switch (reason) {
    case Reason::kSequenceGap:
      return "packets are missing";
    case Reason::kReceiverNotReady:
      return "no receive request is posted";
    case Reason::kPagesAbsent:
      return "pages are absent";
    case Reason::kOpcodeOutOfSequence:
      return "the opcode does not follow the one before";
    case Reason::kNotAllowedOnQp:
      return "the queue pair does not allow the operation";
    case Reason::kNoSuchReceiver:
      return "no shared receive queue of the domain has that number";
    case Reason::kTooManyOutstanding:
      return "too many reads and atomics are outstanding";
    case Reason::kBadLength:
      return "the length is wrong";
    case Reason::kReservedFlush:
      return "the flush has reserved values";
    case Reason::kMisaligned:
      return "the address is not aligned";
    case Reason::kMessageTooLong:
      return "the message is longer than the receive request";
    case Reason::kNoPersistence:
      return "the region offers no persistence";
    case Reason::kPagesUnavailable:
      return "the pages cannot be had";
    case Reason::kReceiveBufferDenied:
      return "the receive request's memory is denied";
    case Reason::kCompletionQueueError:
      return "the completion queue is full";
    case Reason::kOwnWorkFailed:
      return "a registration of the responder's own has failed";
  }
  UNREACHABLE();
}

const char* NameOf(Cause cause) {
  return cause.is_denial() ? NameOf(cause.denial()) : NameOf(cause.reason());
}

}  // namespace verbena::transport
