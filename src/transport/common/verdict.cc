#include "transport/common/verdict.h"

#include "base/check.h"

namespace verbena::transport {
namespace {

using memory::Refusal;
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
// A receive request in progress belongs to a write with immediate. IBA 11.6.2 has a status for it:
// "Local Access Error: a protection error occurred on a local data buffer during the processing of
// an RDMA Write with Immediate Data operation sent from the remote node".
constexpr Verdict kAccessError =
    Fatal(NakCode::kRemoteAccessError, CompletionStatus::kLocalAccessError,
          AsyncEventType::kQpAccessError);
// IBA 9.9.3, class J: the bytes of the send are in place, and a memory management operation of the
// responder failed. The receive request completes in error; the peer gets no response.
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

// The completion of the work request reports the error, and receive requests are flushed.
constexpr Verdict kOwnFailure = {.nak = NakCode::kRemoteOperationalError,
                                 .is_silent = false,
                                 .receive_status = CompletionStatus::kFlushed,
                                 .effect = QpEffect::kError,
                                 .event = std::nullopt};

// The table, first part: reasons of the transport.
Verdict RowOf(ResponderError error) {
  switch (error) {
    case ResponderError::kSequenceGap:
      return kTryAgain;
    case ResponderError::kReceiverNotReady:
    case ResponderError::kPagesAbsent:
      return kTryLater;
    case ResponderError::kOpcodeOutOfSequence:
    case ResponderError::kNotAllowedOnQp:
    case ResponderError::kNoSuchReceiver:
    case ResponderError::kTooManyOutstanding:
    case ResponderError::kBadLength:
    case ResponderError::kReservedFlush:
    case ResponderError::kMisaligned:
      return kInvalidRequest;
    case ResponderError::kMessageTooLong:
      return kTooLong;
    case ResponderError::kNoPersistence:
    case ResponderError::kPagesUnavailable:
      return kAccessError;
    case ResponderError::kReceiveBufferRefused:
      return kBadReceive;
    case ResponderError::kCompletionQueueError:
      return kLocalTrouble;
    case ResponderError::kOwnWorkFailed:
      return kOwnFailure;
  }
  UNREACHABLE();
}

// The table, second part: refusals of the memory tables. IBA 9.9.3: a wrong remote key, and a
// violation of its bounds or rights, is a remote access error. 9.4.5: an atomic that is not aligned
// is an invalid request.
Verdict RowOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoSuchKey:
    case Refusal::kNotValid:
    case Refusal::kSwappedOut:
    case Refusal::kRegionNotValid:
    case Refusal::kGuestGone:
    case Refusal::kWrongType:
    case Refusal::kWrongDomain:
    case Refusal::kWrongQp:
    case Refusal::kStaleVariant:
    case Refusal::kOutOfRange:
    case Refusal::kNoSegment:
    case Refusal::kNoRight:
    case Refusal::kOwnerHasNoRight:
    case Refusal::kNotBindable:
    case Refusal::kWrongCommand:
    case Refusal::kSameVariant:
    case Refusal::kStillInUse:
    case Refusal::kNotInvalidable:
    case Refusal::kTooManyPages:
    case Refusal::kBadPageList:
    case Refusal::kRightsTooWide:
    case Refusal::kWraps:
      return kAccessError;
    case Refusal::kMisaligned:
      return kInvalidRequest;
  }
  UNREACHABLE();
}

}  // namespace

Verdict VerdictOf(NakReason reason) {
  if (!reason.is_refusal()) return RowOf(reason.error());
  switch (reason.key()) {
    case RefusedKey::kPeers:
      return RowOf(reason.refusal());
    case RefusedKey::kOwn:
      return kBadReceive;
    case RefusedKey::kInvalidated:
      return kInvalidateError;
  }
  UNREACHABLE();
}

const char* NameOf(ResponderError error) {
  switch (error) {
    case ResponderError::kSequenceGap:
      return "packets are missing";
    case ResponderError::kReceiverNotReady:
      return "no receive request is posted";
    case ResponderError::kPagesAbsent:
      return "pages are absent";
    case ResponderError::kOpcodeOutOfSequence:
      return "the opcode does not follow the one before";
    case ResponderError::kNotAllowedOnQp:
      return "the queue pair does not allow the operation";
    case ResponderError::kNoSuchReceiver:
      return "no shared receive queue of the domain has that number";
    case ResponderError::kTooManyOutstanding:
      return "too many reads and atomics are outstanding";
    case ResponderError::kBadLength:
      return "the length is wrong";
    case ResponderError::kReservedFlush:
      return "the flush has reserved values";
    case ResponderError::kMisaligned:
      return "the address is not aligned";
    case ResponderError::kMessageTooLong:
      return "the message is longer than the receive request";
    case ResponderError::kNoPersistence:
      return "the region offers no persistence";
    case ResponderError::kPagesUnavailable:
      return "the pages cannot be paged in";
    case ResponderError::kReceiveBufferRefused:
      return "the memory of the receive request is refused";
    case ResponderError::kCompletionQueueError:
      return "the completion queue is full";
    case ResponderError::kOwnWorkFailed:
      return "a registration on the responder's queue pair has failed";
  }
  UNREACHABLE();
}

const char* NameOf(NakReason reason) {
  return reason.is_refusal() ? NameOf(reason.refusal()) : NameOf(reason.error());
}

}  // namespace verbena::transport
