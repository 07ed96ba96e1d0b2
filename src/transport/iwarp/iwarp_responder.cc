#include "transport/iwarp/iwarp_responder.h"

#include <algorithm>

#include "base/check.h"
#include "transport/common/refusal_counters.h"
#include "transport/iwarp/masked_atomic.h"
#include "wire/iwarp/rdmap_immediate.h"

namespace verbena::transport {
namespace {

using memory::AccessKind;
using memory::KeyUse;
using wire::RdmapOpcode;

// The length of a tagged message is not known before its end, so pages are requested this far
// ahead.
constexpr uint64_t kWriteAheadMax = kSendAheadMax;

// RFC 5041, 5.2: tagged offsets do not wrap.
bool Wraps(KeyAddress start, uint64_t length) {
  return length > 0 && start.value() > UINT64_MAX - (length - 1);
}

// The fault for the bytes from `start` on that the peer will probably write next.
memory::Fault FaultAhead(const RemoteRange& range, const memory::Accessor& who,
                         const memory::MemoryCore& memory, const memory::Fault& fault) {
  const memory::ProtectionEntry* const entry = memory.table.Find(range.key.index());
  const uint64_t left = entry->length - (range.start.value() - entry->start);
  const memory::Translation ahead = memory.translator.Translate(
      range.key, range.start, std::min(left, kWriteAheadMax), AccessKind::kRemoteWrite, who);
  const memory::Fault* const all = AsFault(ahead);
  if (all == nullptr) return fault;
  memory::Fault wider = *all;
  wider.is_loss = fault.is_loss;
  return wider;
}

RemoteRange RangeOf(const wire::DdpTagged& header, size_t length) {
  return {.key = header.stag, .start = header.offset, .length = static_cast<uint32_t>(length)};
}

}  // namespace

IwarpResponder::IwarpResponder(const IwarpConfig& config, ReceiveSource source,
                               queue::CompletionQueue& cq)
    : config_(config), receive_(config.local_qp, source, cq), reads_(config.max_dest_rd_atomic) {}

void IwarpResponder::Start() {
  CHECK(!receive_.is_taken());
  reads_ = ReadQueue(config_.max_dest_rd_atomic);
  next_send_ = next_atomic_response_ = wire::kFirstDdpMsn;
  send_ = {};
  write_bytes_ = last_write_bytes_ = 0;
  has_early_touch_ = false;
  wait_.reset();
  reply_wait_.reset();
  failure_.reset();
  losses_ = 0;
}

// A touched key is still good for the message that touched it, whose last segment arrived early.
SpentKey IwarpResponder::SpentKeyFor(Key key, const SegmentPlace& place, const Step& step) const {
  const bool is_part =
      has_early_touch_ && step.memory.one_touch.MayBePart(key, place.last_byte(), config_.local_qp);
  return is_part ? SpentKey::kAllowed : SpentKey::kRefused;
}

SegmentOutcome IwarpResponder::OnWrite(const wire::DdpTagged& header,
                                       std::span<const std::byte> payload,
                                       const SegmentPlace& place, Step& step) {
  if (!config_.remote_rights.Has(Access::kRemoteWrite)) return StreamError::kNotAllowedOnQp;
  if (Wraps(header.offset, payload.size())) return StreamError::kOffsetWraps;
  const RemoteRange range = RangeOf(header, payload.size());
  KeyUse use = KeyUse::kMany;
  if (place.is_placed) {
    if (const auto no = CheckPlaced(range, place, step)) return no;
  } else if (const auto no = PlaceSegment(range, payload, place, use, step)) {
    return no;
  }
  write_bytes_ += range.length;
  if (!header.control.last) return std::nullopt;
  last_write_bytes_ = std::exchange(write_bytes_, 0);
  return EndWrite(range.key, use, place, step);
}

// The payload was placed with the rights of that time. If the stream had not been reordered, the
// key would be used now, so it must be good now: a one-touch key may have ended since.
SegmentOutcome IwarpResponder::CheckPlaced(const RemoteRange& range, const SegmentPlace& place,
                                           Step& step) const {
  const auto grant = step.memory.translator.Authorize(range.key, range.start, range.length,
                                                      AccessKind::kRemoteWrite, config_.who);
  if (!grant) return NakReason(grant.error());
  const bool is_spent = grant->use == KeyUse::kSpent;
  if (is_spent && SpentKeyFor(range.key, place, step) == SpentKey::kRefused) {
    return StreamError::kSecondTouch;
  }
  return std::nullopt;
}

SegmentOutcome IwarpResponder::PlaceSegment(const RemoteRange& range,
                                            std::span<const std::byte> payload,
                                            const SegmentPlace& place, KeyUse& use, Step& step) {
  const Placement placed =
      PlaceWrite(range, payload, config_.who, step.memory, SpentKeyFor(range.key, place, step));
  if (const NakReason* const reason = std::get_if<NakReason>(&placed)) return *reason;
  if (const auto* const fault = std::get_if<memory::Fault>(&placed)) {
    return WaitForPages(FaultAhead(range, config_.who, step.memory, *fault),
                        ResponderError::kPagesUnavailable, step);
  }
  losses_ = 0;
  use = std::get<Placed>(placed).use;
  return std::nullopt;
}

// Row B9. A key whose last segment was placed early ends by OnDelivered.
SegmentOutcome IwarpResponder::EndWrite(Key key, KeyUse use, const SegmentPlace& place,
                                        Step& step) {
  if (use == KeyUse::kMany) return std::nullopt;
  const auto action =
      step.memory.one_touch.Touch(key, {.ends_message = true, .last_byte = place.last_byte()},
                                  {.next_expected = place.next()}, config_.who);
  if (action == memory::TouchAction::kPlaceAndInvalidate) return std::nullopt;
  return StreamError::kSecondTouch;
}

IwarpResponder::EarlyWrite IwarpResponder::OnEarlyWrite(const wire::DdpTagged& header,
                                                        std::span<const std::byte> payload,
                                                        const SegmentPlace& place,
                                                        wire::StreamOffset next, Step& step) {
  if (!config_.remote_rights.Has(Access::kRemoteWrite)) return {};
  if (payload.empty() || Wraps(header.offset, payload.size())) return {};
  // Row B9: what lies outside of the window is dropped.
  if (BytesBetween(next, place.end) > config_.stream.receive_window) return {};
  const RemoteRange range = RangeOf(header, payload.size());
  const auto grant = step.memory.translator.Authorize(range.key, range.start, range.length,
                                                      AccessKind::kRemoteWrite, config_.who);
  // A segment that is refused now may be granted when the stream delivers it.
  if (!grant) return {};
  const memory::StreamSegment segment{.ends_message = header.control.last,
                                      .last_byte = place.last_byte()};
  const memory::StreamPosition stream{
      .next_expected = memory::StreamNumber(static_cast<uint32_t>(next.value())),
      .window = config_.stream.receive_window};
  const SpentKey spent = SpentKeyFor(range.key, place, step);
  const bool is_part = grant->use != KeyUse::kSpent || spent == SpentKey::kAllowed;
  if (!is_part && !segment.ends_message) return {};
  const auto touch = [&] {
    return step.memory.one_touch.Touch(range.key, segment, stream, config_.who);
  };
  if (is_part) {
    const Placement placed = PlaceWrite(range, payload, config_.who, step.memory, spent);
    if (!std::holds_alternative<Placed>(placed)) return {};
    if (grant->use == KeyUse::kMany || !segment.ends_message) return {.is_placed = true};
  }
  const auto action = touch();
  if (action == memory::TouchAction::kPlaceAndRemember) {
    has_early_touch_ = true;
    return {.is_placed = true};
  }
  return {.error = StreamError::kSecondTouch};
}

SegmentOutcome IwarpResponder::OnUntagged(const wire::DdpUntagged& header,
                                          const wire::RdmapOpcodeInfo& opcode,
                                          std::span<const std::byte> body,
                                          const SegmentPlace& place, Step& step) {
  switch (opcode.opcode) {
    case RdmapOpcode::kSend:
    case RdmapOpcode::kSendInvalidate:
    case RdmapOpcode::kSendSolicited:
    case RdmapOpcode::kSendSolicitedInvalidate:
      return OnSend(header, opcode, body, step);
    case RdmapOpcode::kImmediate:
    case RdmapOpcode::kImmediateSolicited:
      return OnImmediate(header, opcode, body, step);
    case RdmapOpcode::kReadRequest:
      return OnReadRequest(header, body, step);
    case RdmapOpcode::kAtomicRequest:
      return OnAtomicRequest(header, body, place, step);
    case RdmapOpcode::kWrite:
    case RdmapOpcode::kReadResponse:
    case RdmapOpcode::kTerminate:
    case RdmapOpcode::kAtomicResponse:
      break;  // not served by this half
  }
  UNREACHABLE();
}

// RFC 5041, 5.3: messages of a queue follow each other, and the segments of a message, too.
SegmentOutcome IwarpResponder::CheckSend(const wire::DdpUntagged& header) const {
  if (header.msn != next_send_) return StreamError::kMsnRange;
  if (send_.is_open && header.control.opcode != send_.opcode) return StreamError::kUnexpectedOpcode;
  if (header.offset.value() != (send_.is_open ? send_.received : 0)) {
    return StreamError::kMessageOffset;
  }
  return std::nullopt;
}

SegmentOutcome IwarpResponder::OnSend(const wire::DdpUntagged& header,
                                      const wire::RdmapOpcodeInfo& opcode,
                                      std::span<const std::byte> payload, Step& step) {
  if (const auto no = CheckSend(header)) return no;
  if (!receive_.Take(step)) return StreamError::kNoReceive;
  const uint64_t longer = receive_.filled() + payload.size();
  if (payload.size() > receive_.room() || longer > kMessageMax) {
    return NakReason(ResponderError::kMessageTooLong);
  }
  const uint64_t ahead = header.control.last ? payload.size() : kSendAheadMax;
  const Placement placed = receive_.Append(payload, ahead, config_.who, step.memory);
  if (const NakReason* const reason = std::get_if<NakReason>(&placed)) return *reason;
  if (const auto* const fault = std::get_if<memory::Fault>(&placed)) {
    had_receive_fault_ = true;
    return WaitForPages(*fault, ResponderError::kReceiveBufferRefused, step);
  }
  losses_ = 0;
  send_ = {.is_open = !header.control.last,
           .opcode = header.control.opcode,
           .received = header.offset.value() + static_cast<uint32_t>(payload.size())};
  return header.control.last ? CompleteSend(header, opcode, step) : std::nullopt;
}

SegmentOutcome IwarpResponder::CompleteSend(const wire::DdpUntagged& header,
                                            const wire::RdmapOpcodeInfo& opcode, Step& step) {
  Completion completion;
  completion.opcode = CompletionOpcode::kReceive;
  completion.byte_count = static_cast<uint32_t>(receive_.filled());
  if (opcode.has_invalidate) {
    const auto invalidated =
        step.memory.Invalidate(header.invalidate, memory::Origin::kRemote, config_.who);
    if (!invalidated) return NakReason(invalidated.error(), RefusedKey::kInvalidated);
    completion.with_invalidate = true;
    completion.invalidated = header.invalidate;
  }
  ++next_send_;
  if (receive_.Finish(completion, opcode.is_solicited, step)) return std::nullopt;
  return NakReason(ResponderError::kCompletionQueueError);
}

// RFC 7306, 6: a message of one segment in the queue of sends. It completes the write before it.
SegmentOutcome IwarpResponder::OnImmediate(const wire::DdpUntagged& header,
                                           const wire::RdmapOpcodeInfo& opcode,
                                           std::span<const std::byte> body, Step& step) {
  if (const auto no = CheckSend(header)) return no;
  const auto immediate = wire::RdmapImmediate::Parse(body);
  if (!immediate || !header.control.last) return StreamError::kSegmentTooShort;
  if (!receive_.Take(step)) return StreamError::kNoReceive;
  Completion completion;
  completion.opcode = CompletionOpcode::kReceiveWithImmediate;
  completion.byte_count = std::exchange(last_write_bytes_, 0);
  completion.with_immediate = true;
  completion.immediate = Immediate(static_cast<uint32_t>(immediate->data >> 32));
  ++next_send_;
  if (receive_.Finish(completion, opcode.is_solicited, step)) return std::nullopt;
  return NakReason(ResponderError::kCompletionQueueError);
}

// Reads nothing yet: the response reads the bytes when it is framed.
SegmentOutcome IwarpResponder::OnReadRequest(const wire::DdpUntagged& header,
                                             std::span<const std::byte> body, Step& step) {
  if (const auto error = reads_.Check(header.msn, true)) return *error;
  const auto read = wire::RdmapReadRequest::Parse(body);
  if (!read || !header.control.last) return StreamError::kSegmentTooShort;
  if (header.offset.value() != 0) return StreamError::kMessageOffset;
  if (!config_.remote_rights.Has(Access::kRemoteRead)) return StreamError::kNotAllowedOnQp;
  if (Wraps(read->source_offset, read->size)) return StreamError::kOffsetWraps;
  InboundRead entry{.kind = InboundRead::Kind::kRead, .msn = header.msn, .read = *read};
  if (read->size > 0) {
    const auto grant = step.memory.translator.Authorize(
        read->source_stag, read->source_offset, read->size, AccessKind::kRemoteRead, config_.who);
    if (!grant) return NakReason(grant.error());
    if (grant->use == KeyUse::kSpent) return NakReason(memory::Refusal::kNotValid);
    // Row A5: the key is good for this read, and for nothing else.
    entry.holds_key = grant->use == KeyUse::kOnce;
    if (entry.holds_key) step.memory.one_touch.Hold(read->source_stag);
  }
  reads_.Deliver(entry);
  return std::nullopt;
}

// Operations with masks are made of compare-and-swap: the processor has no others.
AtomicResult IwarpResponder::ExecuteOn(const wire::RdmapAtomicRequest& request, Step& step) const {
  const RemoteRange word{request.stag, request.offset, queue::kAtomicBytes};
  const bool swaps = request.opcode == wire::RdmapAtomicOpcode::kCompareSwap;
  if (IsPlain(request)) {
    return ExecuteAtomic(
        word,
        {.is_compare_swap = swaps, .compare = request.compare, .swap_or_add = request.add_or_swap},
        config_.who, step.memory);
  }
  uint64_t expected = 0;
  for (;;) {
    const uint64_t desired = ApplyAtomic(request, expected);
    AtomicResult result =
        ExecuteAtomic(word, {.is_compare_swap = true, .compare = expected, .swap_or_add = desired},
                      config_.who, step.memory);
    const AtomicDone* const done = std::get_if<AtomicDone>(&result);
    if (done == nullptr || done->original == expected) return result;
    expected = done->original;
  }
}

SegmentOutcome IwarpResponder::OnAtomicRequest(const wire::DdpUntagged& header,
                                               std::span<const std::byte> body,
                                               const SegmentPlace& place, Step& step) {
  if (const auto error = reads_.Check(header.msn, true)) return *error;
  const auto request = wire::RdmapAtomicRequest::Parse(body);
  if (!request || !header.control.last) return StreamError::kSegmentTooShort;
  if (header.offset.value() != 0) return StreamError::kMessageOffset;
  if (request->opcode != wire::RdmapAtomicOpcode::kFetchAdd &&
      request->opcode != wire::RdmapAtomicOpcode::kCompareSwap) {
    return StreamError::kBadAtomic;
  }
  if (!config_.remote_rights.Has(Access::kRemoteAtomic)) return StreamError::kNotAllowedOnQp;
  const AtomicResult result = ExecuteOn(*request, step);
  if (const NakReason* const reason = std::get_if<NakReason>(&result)) return *reason;
  if (const auto* const fault = std::get_if<memory::Fault>(&result)) {
    return WaitForPages(*fault, ResponderError::kPagesUnavailable, step);
  }
  losses_ = 0;
  const AtomicDone& done = std::get<AtomicDone>(result);
  reads_.Deliver({.kind = InboundRead::Kind::kAtomic,
                  .msn = header.msn,
                  .atomic = {.id = request->id, .original = done.original}});
  return EndWrite(request->stag, done.use, place, step);
}

SegmentOutcome IwarpResponder::WaitForPages(const memory::Fault& fault, ResponderError otherwise,
                                            Step& step) {
  if (fault.is_loss && losses_++ == kLossesMax) return NakReason(otherwise);
  wait_ = PageWait{.ticket = RequestPages(fault, step), .otherwise = otherwise};
  return NakReason(ResponderError::kPagesAbsent);
}

FaultTicket IwarpResponder::RequestPages(const memory::Fault& fault, Step& step) {
  ++page_waits_;
  const FaultTicket ticket(kReceiverTickets | ++tickets_);
  step.outbox.RequestPages({.qp = config_.local_qp, .ticket = ticket, .fault = fault});
  return ticket;
}

void IwarpResponder::OnPagesReady(FaultTicket ticket, bool available, Step& /*step*/) {
  if (wait_ && wait_->ticket == ticket) {
    if (!available && !failure_) failure_ = Failure{.reason = NakReason(wait_->otherwise)};
    wait_.reset();
  } else if (reply_wait_ == ticket) {
    reply_wait_.reset();
    if (!available && !failure_ && reads_.front() != nullptr) {
      failure_ =
          Failure{.reason = NakReason(ResponderError::kPagesUnavailable), .read = *reads_.front()};
    }
  }
}

}  // namespace verbena::transport
