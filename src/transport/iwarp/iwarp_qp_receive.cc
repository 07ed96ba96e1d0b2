// The receiving part of iwarp_qp.h: bytes, frames and segments.

#include <algorithm>

#include "base/check.h"
#include "transport/iwarp/iwarp_qp.h"

namespace verbena::transport {

using wire::DdpControl;
using wire::DdpTagged;
using wire::DdpUntagged;
using wire::RdmapOpcode;
using wire::StreamOffset;

namespace {

size_t DropBytes(MpaReceiver& in, StreamOffset at, size_t size) {
  if (at + size > in.next()) in.Deliver({.start = in.next(), .end = at + size, .ulpdu = {}});
  return size;
}

size_t DropRecords(MpaReceiver& in, std::span<std::byte> bytes) {
  size_t dropped = 0;
  while (dropped < bytes.size()) {
    const MpaReceiver::Result found = in.Find(bytes.subspan(dropped));
    if (found.outcome != MpaReceiver::Outcome::kFrame) break;
    in.Deliver(found.frame);
    dropped += RecordSize(found.frame);
  }
  return dropped;
}

}  // namespace

size_t IwarpQp::OnBytes(StreamOffset at, std::span<std::byte> bytes, Step& step) {
  if (!in_) return bytes.size();
  if (at > in_->next()) {
    OnEarlyBytes(at, bytes, step);
    return 0;
  }
  const bool has_records = config().stream.framing == StreamFraming::kRecords;
  // Bytes that were delivered before may come again. Records do not.
  size_t taken = has_records ? 0 : std::min<uint64_t>(BytesBetween(at, in_->next()), bytes.size());
  while (taken < bytes.size() && !is_waiting() && !is_failing() && TakesRequests(state_)) {
    const MpaReceiver::Result found = in_->Find(bytes.subspan(taken));
    if (found.outcome == MpaReceiver::Outcome::kIncomplete) return taken;
    if (found.outcome != MpaReceiver::Outcome::kFrame) {
      const bool is_crc = found.outcome == MpaReceiver::Outcome::kBadCrc;
      Terminate(is_crc ? StreamError::kCrc : StreamError::kMarker, {}, step);
      break;
    }
    const size_t size =
        has_records ? RecordSize(found.frame) : BytesBetween(found.frame.start, found.frame.end);
    const bool goes_on = DeliverFrame(found.frame, step);
    if (in_->next() == found.frame.end) taken += size;
    if (!goes_on) break;
  }
  DCHECK(IsConsistent());
  if (TakesRequests(state_)) return taken;
  // After an error all that arrives is dropped, and the stream goes on behind it.
  return has_records ? taken + DropRecords(*in_, bytes.subspan(taken))
                     : DropBytes(*in_, at, bytes.size());
}

// False if the frame waits for pages, or has ended the stream.
bool IwarpQp::DeliverFrame(const InboundFrame& frame, Step& step) {
  const SegmentOutcome outcome = DeliverSegment(frame, step);
  if (IsWait(outcome)) return false;
  if (requester_.has_failed()) {
    if (state_ != QpState::kErr) TerminateLocally();
    return false;
  }
  if (outcome) {
    Terminate(*outcome, RefusedOf(frame.ulpdu), step);
    return false;
  }
  in_->Deliver(frame);
  has_received_ = true;
  ++counters_.frames_received;
  responder_.OnDelivered(memory::StreamNumber(static_cast<uint32_t>(frame.end.value())), step);
  return state_ != QpState::kErr;
}

// The checks of DDP come first, then those of RDMAP. (RFC 5041, 7; RFC 5040, 7)
SegmentOutcome IwarpQp::DeliverSegment(const InboundFrame& frame, Step& step) {
  const std::span<const std::byte> ulpdu = frame.ulpdu;
  if (ulpdu.empty()) {
    // RFC 6581: the initiator is ready.
    const bool is_ready = config().stream.takes_empty_frame && !has_received_;
    return is_ready ? SegmentOutcome() : StreamError::kSegmentTooShort;
  }
  const auto control = DdpControl::Parse(ulpdu);
  if (!control) return StreamError::kSegmentTooShort;
  if (control->ddp_version != DdpControl::kVersion) return StreamError::kDdpVersion;
  const SegmentPlace place{.end = frame.end,
                           .is_placed = early_.size() > 0 && early_.Take(frame.start, frame.end)};
  const auto* const opcode = FindRdmapOpcode(control->opcode);
  if (control->tagged) {
    const auto header = DdpTagged::Parse(ulpdu);
    if (!header) return StreamError::kSegmentTooShort;
    if (control->rdmap_version != DdpControl::kVersion) return StreamError::kRdmapVersion;
    if (opcode == nullptr || !opcode->is_tagged) return StreamError::kUnexpectedOpcode;
    return DeliverTagged(*header, ulpdu.subspan(DdpTagged::kSize), place, step);
  }
  const auto header = DdpUntagged::Parse(ulpdu);
  if (!header) return StreamError::kSegmentTooShort;
  if (static_cast<size_t>(header->queue) >= wire::kDdpQueueCount) return StreamError::kQueueNumber;
  if (control->rdmap_version != DdpControl::kVersion) return StreamError::kRdmapVersion;
  if (opcode == nullptr || opcode->is_tagged || opcode->queue != header->queue) {
    return StreamError::kUnexpectedOpcode;
  }
  return DeliverUntagged(*header, *opcode, ulpdu.subspan(DdpUntagged::kSize), place, step);
}

SegmentOutcome IwarpQp::DeliverTagged(const DdpTagged& header, std::span<const std::byte> payload,
                                      const SegmentPlace& place, Step& step) {
  if (header.control.opcode == RdmapOpcode::kWrite) {
    return responder_.OnWrite(header, payload, place, step);
  }
  return requester_.OnReadResponse(header, payload, place, step);
}

SegmentOutcome IwarpQp::DeliverUntagged(const DdpUntagged& header,
                                        const wire::RdmapOpcodeInfo& opcode,
                                        std::span<const std::byte> body, const SegmentPlace& place,
                                        Step& step) {
  if (opcode.body != 0 && body.size() != opcode.body) return StreamError::kSegmentTooShort;
  if (opcode.opcode == RdmapOpcode::kTerminate) return OnTerminate(body, step);
  if (opcode.opcode == RdmapOpcode::kAtomicResponse) {
    return requester_.OnAtomicResponse(header, body, step);
  }
  return responder_.OnUntagged(header, opcode, body, place, step);
}

// The peer has ended the stream. A message that cannot be read ends it as well.
SegmentOutcome IwarpQp::OnTerminate(std::span<const std::byte> body, Step& step) {
  terminate_received_ = wire::RdmapTerminate::Parse(body).value_or(
      wire::RdmapTerminate{.code = wire::TerminateCode::kRdmapOperationUnspecified});
  requester_.OnTerminate(*terminate_received_, step);
  state_ = QpState::kErr;
  return std::nullopt;
}

// Row B9. What lies outside of the window is dropped: its sender sends it again. SCTP has a window
// of its own below.
void IwarpQp::OnEarlyBytes(StreamOffset at, std::span<const std::byte> bytes, Step& step) {
  const uint64_t ahead = BytesBetween(in_->next(), at);
  const bool has_records = config().stream.framing == StreamFraming::kRecords;
  const uint64_t window = has_records ? UINT64_MAX : config().stream.receive_window;
  const uint64_t inside = ahead < window ? std::min<uint64_t>(window - ahead, bytes.size()) : 0;
  counters_.bytes_dropped += bytes.size() - inside;
  if (inside == 0 || is_waiting() || is_failing() || !TakesRequests(state_)) return;
  in_->FindEarly(at, bytes.first(inside),
                 [&](const InboundFrame& frame) { OnEarlyFrame(frame, step); });
}

void IwarpQp::OnEarlyFrame(const InboundFrame& frame, Step& step) {
  if (!TakesRequests(state_) || early_.is_full() || early_.Has(frame.start)) return;
  const auto control = DdpControl::Parse(frame.ulpdu);
  if (!control || control->ddp_version != DdpControl::kVersion ||
      control->rdmap_version != DdpControl::kVersion) {
    return;
  }
  std::optional<StreamError> error;
  bool is_placed = false;
  if (const auto header = DdpTagged::Parse(frame.ulpdu)) {
    const auto payload = frame.ulpdu.subspan(DdpTagged::kSize);
    if (control->opcode == RdmapOpcode::kWrite) {
      const auto write =
          responder_.OnEarlyWrite(*header, payload, {.end = frame.end}, in_->next(), step);
      is_placed = write.is_placed;
      error = write.error;
    } else if (control->opcode == RdmapOpcode::kReadResponse) {
      is_placed = requester_.OnEarlyResponse(*header, payload, step);
    }
  } else if (const auto untagged = DdpUntagged::Parse(frame.ulpdu)) {
    // Row B10.
    const auto* const opcode = FindRdmapOpcode(control->opcode);
    const bool is_read = opcode != nullptr && opcode->queue == wire::DdpQueue::kReadRequest &&
                         untagged->queue == wire::DdpQueue::kReadRequest && !opcode->is_tagged;
    if (is_read) error = responder_.CheckEarlyRead(untagged->msn);
  }
  if (error) return Terminate(*error, RefusedOf(frame.ulpdu), step);
  if (!is_placed) return;
  early_.Add(frame.start, frame.end);
  ++counters_.frames_early;
}

IwarpQp::Refused IwarpQp::RefusedOf(std::span<const std::byte> ulpdu) {
  Refused refused{.length = static_cast<uint16_t>(ulpdu.size())};
  if (const auto tagged = DdpTagged::Parse(ulpdu)) {
    refused.kind = SegmentKind::kTagged;
    refused.header = *tagged;
  } else if (const auto untagged = DdpUntagged::Parse(ulpdu)) {
    refused.header = *untagged;
    if (untagged->control.opcode == RdmapOpcode::kReadRequest) {
      refused.kind = SegmentKind::kReadRequest;
      refused.read_request = wire::RdmapReadRequest::Parse(ulpdu.subspan(DdpUntagged::kSize));
    }
  }
  return refused;
}

IwarpQp::Refused IwarpQp::RefusedOf(const InboundRead& read) {
  return {.kind = SegmentKind::kReadRequest,
          .length = DdpUntagged::kSize + wire::RdmapReadRequest::kSize,
          .header = DdpUntagged{.control = {.last = true, .opcode = RdmapOpcode::kReadRequest},
                                .queue = wire::DdpQueue::kReadRequest,
                                .msn = read.msn},
          .read_request = read.read};
}

}  // namespace verbena::transport
