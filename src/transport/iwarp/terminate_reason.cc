#include "transport/iwarp/terminate_reason.h"

#include "base/check.h"

namespace verbena::transport {
namespace {

using memory::Refusal;
using wire::TerminateCode;

constexpr Termination Invalid(TerminateCode code) {
  return {.code = code,
          .receive_status = CompletionStatus::kRemoteInvalidRequest,
          .event = AsyncEventType::kQpRequestError};
}

// The table, first part: errors of the protocol.
Termination RowOf(StreamError error, bool tagged) {
  switch (error) {
    case StreamError::kCrc:
      return Invalid(TerminateCode::kMpaCrc);
    case StreamError::kMarker:
      return Invalid(TerminateCode::kMpaMarker);
    case StreamError::kSegmentTooShort:
    case StreamError::kBadAtomic:
      return Invalid(TerminateCode::kRdmapOperationUnspecified);
    case StreamError::kDdpVersion:
      return Invalid(tagged ? TerminateCode::kDdpTaggedVersion
                            : TerminateCode::kDdpUntaggedVersion);
    case StreamError::kQueueNumber:
      return Invalid(TerminateCode::kDdpUntaggedQueue);
    case StreamError::kNoReceive:
    case StreamError::kNoReadEntry:
      return Invalid(TerminateCode::kDdpUntaggedNoBuffer);
    case StreamError::kMsnRange:
      return Invalid(TerminateCode::kDdpUntaggedMsnRange);
    case StreamError::kMessageOffset:
      return Invalid(TerminateCode::kDdpUntaggedOffset);
    case StreamError::kOffsetWraps:
      return Invalid(tagged ? TerminateCode::kDdpTaggedWrap : TerminateCode::kRdmapWrap);
    case StreamError::kNoSuchRead:
    case StreamError::kSecondTouch:
      return Invalid(TerminateCode::kDdpTaggedInvalidStag);
    case StreamError::kReadBounds:
      return Invalid(TerminateCode::kDdpTaggedBounds);
    case StreamError::kRdmapVersion:
      return Invalid(TerminateCode::kRdmapVersion);
    case StreamError::kUnexpectedOpcode:
      return Invalid(TerminateCode::kRdmapUnexpectedOpcode);
    case StreamError::kNotAllowedOnQp:
      return Invalid(TerminateCode::kRdmapAccess);
  }
  UNREACHABLE();
}

// The table, second part: refusals of the memory tables. RFC 5041 has no code for rights, which are
// a matter of RDMAP.
TerminateCode CodeOf(Refusal refusal, bool tagged) {
  switch (refusal) {
    case Refusal::kNoSuchKey:
    case Refusal::kNotValid:
    case Refusal::kSwappedOut:
    case Refusal::kRegionNotValid:
    case Refusal::kGuestGone:
    case Refusal::kWrongType:
    case Refusal::kStaleVariant:
    case Refusal::kNotBindable:
    case Refusal::kWrongCommand:
    case Refusal::kSameVariant:
    case Refusal::kStillInUse:
    case Refusal::kNotInvalidable:
    case Refusal::kTooManyPages:
    case Refusal::kBadPageList:
    case Refusal::kRightsTooWide:
      return tagged ? TerminateCode::kDdpTaggedInvalidStag : TerminateCode::kRdmapInvalidStag;
    case Refusal::kWrongDomain:
    case Refusal::kWrongQp:
      return tagged ? TerminateCode::kDdpTaggedNotAssociated : TerminateCode::kRdmapNotAssociated;
    case Refusal::kOutOfRange:
    case Refusal::kNoSegment:
      return tagged ? TerminateCode::kDdpTaggedBounds : TerminateCode::kRdmapBounds;
    case Refusal::kWraps:
      return tagged ? TerminateCode::kDdpTaggedWrap : TerminateCode::kRdmapWrap;
    case Refusal::kNoRight:
    case Refusal::kOwnerHasNoRight:
      return TerminateCode::kRdmapAccess;
    case Refusal::kMisaligned:
      return TerminateCode::kRdmapOperationUnspecified;
  }
  UNREACHABLE();
}

// The table, third part: reasons that other services have as well.
TerminateCode CodeOf(ResponderError error) {
  switch (error) {
    case ResponderError::kReceiverNotReady:
      return TerminateCode::kDdpUntaggedNoBuffer;
    case ResponderError::kMessageTooLong:
      return TerminateCode::kDdpUntaggedTooLong;
    case ResponderError::kTooManyOutstanding:
      return TerminateCode::kDdpUntaggedNoBuffer;
    case ResponderError::kNotAllowedOnQp:
      return TerminateCode::kRdmapAccess;
    case ResponderError::kPagesUnavailable:
      return TerminateCode::kRdmapStreamCatastrophic;
    case ResponderError::kReceiveBufferRefused:
    case ResponderError::kCompletionQueueError:
    case ResponderError::kOwnWorkFailed:
      return TerminateCode::kRdmapCatastrophic;
    // The rest does not occur on a byte stream.
    case ResponderError::kSequenceGap:
    case ResponderError::kPagesAbsent:
    case ResponderError::kOpcodeOutOfSequence:
    case ResponderError::kNoSuchReceiver:
    case ResponderError::kBadLength:
    case ResponderError::kReservedFlush:
    case ResponderError::kMisaligned:
    case ResponderError::kNoPersistence:
      return TerminateCode::kRdmapOperationUnspecified;
  }
  UNREACHABLE();
}

TerminateCode CodeOf(NakReason reason, bool tagged) {
  if (!reason.is_refusal()) return CodeOf(reason.error());
  switch (reason.key()) {
    case RefusedKey::kPeers:
      return CodeOf(reason.refusal(), tagged);
    case RefusedKey::kOwn:
      return TerminateCode::kRdmapCatastrophic;
    case RefusedKey::kInvalidated:
      return TerminateCode::kRdmapCannotInvalidate;
  }
  UNREACHABLE();
}

}  // namespace

Termination TerminationOf(const TerminateReason& reason, SegmentKind segment) {
  const bool tagged = segment == SegmentKind::kTagged;
  if (const auto* const error = std::get_if<StreamError>(&reason)) return RowOf(*error, tagged);
  // The consequences at this end are those that the other services have.
  const NakReason shared = std::get<NakReason>(reason);
  const Verdict verdict = VerdictOf(shared);
  return {.code = CodeOf(shared, tagged),
          .receive_status = verdict.receive_status,
          .event = verdict.event};
}

CompletionStatus StatusOf(TerminateCode code) {
  constexpr unsigned kTypeShift = 8;
  switch (static_cast<unsigned>(code) >> kTypeShift) {
    case 0x01:  // RDMAP, remote protection error
    case 0x11:  // DDP, tagged buffer
      return CompletionStatus::kRemoteAccessError;
    case 0x02:  // RDMAP, remote operation error
    case 0x12:  // DDP, untagged buffer
      return CompletionStatus::kRemoteInvalidRequest;
    default:
      return CompletionStatus::kRemoteOperationError;
  }
}

const char* NameOf(StreamError error) {
  switch (error) {
    case StreamError::kCrc:
      return "the CRC is wrong";
    case StreamError::kMarker:
      return "a marker does not match the length";
    case StreamError::kSegmentTooShort:
      return "the segment is too short";
    case StreamError::kDdpVersion:
      return "the version of DDP is unknown";
    case StreamError::kQueueNumber:
      return "there is no such queue";
    case StreamError::kNoReceive:
      return "no receive request is posted";
    case StreamError::kNoReadEntry:
      return "too many reads and atomics are outstanding";
    case StreamError::kMsnRange:
      return "the message sequence number is out of range";
    case StreamError::kMessageOffset:
      return "the message offset is wrong";
    case StreamError::kOffsetWraps:
      return "the tagged offset wraps";
    case StreamError::kNoSuchRead:
      return "the response is to no read";
    case StreamError::kReadBounds:
      return "the response is not what was read";
    case StreamError::kSecondTouch:
      return "the one-touch key is used up";
    case StreamError::kRdmapVersion:
      return "the version of RDMAP is unknown";
    case StreamError::kUnexpectedOpcode:
      return "the opcode is not expected";
    case StreamError::kBadAtomic:
      return "there is no such atomic operation";
    case StreamError::kNotAllowedOnQp:
      return "the queue pair does not allow the operation";
  }
  UNREACHABLE();
}

const char* NameOf(const TerminateReason& reason) {
  return std::visit([](auto why) { return NameOf(why); }, reason);
}

}  // namespace verbena::transport
