#include "transport/iwarp/iwarp_requester.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "queue/sge_cursor.h"
#include "transport/common/placement.h"
#include "wire/iwarp/rdmap_atomic.h"
#include "wire/iwarp/rdmap_immediate.h"
#include "wire/iwarp/rdmap_read_request.h"

namespace verbena::transport {
namespace {

using queue::SendOpcode;
using queue::WqeNumber;
using wire::DdpTagged;
using wire::DdpUntagged;
using wire::RdmapOpcode;

// RFC 5040 and 7306 have no message for the other three.
bool IsOffered(SendOpcode opcode) {
  return opcode != SendOpcode::kSendWithImmediate && opcode != SendOpcode::kAtomicWrite &&
         opcode != SendOpcode::kFlush;
}

bool IsWrite(SendOpcode opcode) {
  return opcode == SendOpcode::kWrite || opcode == SendOpcode::kWriteWithImmediate;
}

RdmapOpcode SendOpcodeOf(const queue::SendWqe& wqe) {
  const bool invalidates = wqe.opcode == SendOpcode::kSendWithInvalidate;
  if (wqe.flags.solicited) {
    return invalidates ? RdmapOpcode::kSendSolicitedInvalidate : RdmapOpcode::kSendSolicited;
  }
  return invalidates ? RdmapOpcode::kSendInvalidate : RdmapOpcode::kSend;
}

wire::RdmapAtomicRequest RequestOf(const queue::SendWqe& wqe, wire::DdpMsn msn) {
  const auto& atomic = wqe.As<queue::Atomic>();
  const bool swaps = wqe.opcode == SendOpcode::kCompareAndSwap;
  return {
      .opcode = swaps ? wire::RdmapAtomicOpcode::kCompareSwap : wire::RdmapAtomicOpcode::kFetchAdd,
      .id = wire::AtomicRequestId(msn.value()),
      .stag = atomic.remote.key,
      .offset = KeyAddress(atomic.remote.address),
      .add_or_swap = swaps ? atomic.swap : atomic.compare_or_add,
      .add_or_swap_mask = swaps ? UINT64_MAX : 0,
      .compare = swaps ? atomic.compare_or_add : 0,
      .compare_mask = swaps ? UINT64_MAX : 0};
}

}  // namespace

IwarpRequester::IwarpRequester(const IwarpConfig& config, queue::SendQueue& queue,
                               queue::CompletionQueue& cq)
    : config_(config),
      queue_(queue),
      cq_(cq),
      local_work_(queue),
      outstanding_(queue.limits().capacity),
      reads_(config.max_rd_atomic) {
  outstanding_.Reset(queue.begin());
  position_ = {.wqe = queue.begin()};
}

void IwarpRequester::Start() {
  CHECK(outstanding_.empty());
  reads_ = OutboundReads(config_.max_rd_atomic);
  outstanding_.Reset(queue_.begin());
  position_ = {.wqe = queue_.begin()};
  next_send_ = next_read_ = next_atomic_response_ = wire::kFirstDdpMsn;
  gather_wait_.reset();
  scatter_wait_.reset();
  delayed_until_ = Time::Never();
  failed_registration_.reset();
  is_blocked_ = has_failed_ = had_sqd_failure_ = false;
}

FrameSent IwarpRequester::SendFrame(MpaSender& out, bool may_begin, Step& step) {
  while (!has_failed_ && !gather_wait_ && position_.wqe < queue_.end()) {
    if (position_.wqe == outstanding_.end() && !(may_begin && StartNext(step))) break;
    if (!outstanding_.At(position_.wqe).is_done) return SendNext(out, step);
    // It is local, or it has failed.
    position_ = {.wqe = Next(position_.wqe)};
  }
  return FrameSent::kNothing;
}

bool IwarpRequester::MayStart(const queue::SendWqe& wqe) const {
  if (is_blocked_ || had_sqd_failure_ || is_delayed()) return false;
  // A fenced element waits for the reads and atomics before it.
  if (wqe.flags.fence && !reads_.empty()) return false;
  return !PropertiesOf(wqe.opcode).needs_response || reads_.size() < config_.max_rd_atomic;
}

// Executes the local part of the next element. False if it may not be started yet.
bool IwarpRequester::StartNext(Step& step) {
  const WqeNumber n = outstanding_.end();
  const queue::SendWqe& wqe = queue_.At(n);
  if (!MayStart(wqe)) return false;
  const queue::SendProperties& properties = queue::PropertiesOf(wqe.opcode);
  OutstandingRequest& outstanding =
      outstanding_.Start({.first_psn = Psn(),
                          .needs_response = properties.needs_response,
                          .is_done = properties.is_local,
                          .byte_count = static_cast<uint32_t>(queue_.LengthAt(n))});
  const LocalOutcome done = DoLocalPart(n, step);
  if (done.status != CompletionStatus::kSuccess) [[unlikely]] {
    outstanding.status = done.status;
    outstanding.vendor_error = done.vendor_error;
    outstanding.is_done = true;
    is_blocked_ = true;
    if (properties.registers) failed_registration_ = n;
  }
  return true;
}

LocalOutcome IwarpRequester::DoLocalPart(WqeNumber n, Step& step) {
  const queue::SendWqe& wqe = queue_.At(n);
  const queue::SendProperties& properties = queue::PropertiesOf(wqe.opcode);
  if (!IsOffered(wqe.opcode)) return {CompletionStatus::kLocalQpOperationError};
  const uint64_t length = queue_.LengthAt(n);
  if (length > kMessageMax || (properties.is_word && length != queue::kAtomicBytes)) {
    return {CompletionStatus::kLocalLengthError};
  }
  if (wqe.opcode == SendOpcode::kDelay) {
    delayed_until_ = step.now + wqe.As<queue::DelayOperand>().duration;
  }
  return local_work_.Execute(n, config_.registration, config_.who, step);
}

FrameSent IwarpRequester::SendNext(MpaSender& out, Step& step) {
  const SendOpcode opcode = queue_.At(position_.wqe).opcode;
  if (opcode == SendOpcode::kRead) return SendRead(out);
  if (PropertiesOf(opcode).needs_response) return SendAtomic(out);
  return position_.is_immediate ? SendImmediate(out) : SendSegment(out, step);
}

FrameSent IwarpRequester::SendSegment(MpaSender& out, Step& step) {
  const WqeNumber n = position_.wqe;
  const queue::SendWqe& wqe = queue_.At(n);
  const uint64_t left = queue_.LengthAt(n) - position_.offset;
  const size_t header = IsWrite(wqe.opcode) ? DdpTagged::kSize : DdpUntagged::kSize;
  const size_t size = std::min<uint64_t>(left, out.ulpdu_max() - header);
  if (!out.Begin(header + size)) return FrameSent::kNoRoom;
  if (size > 0 && !FillPayload(out.ulpdu().subspan(header), step)) return FrameSent::kNothing;
  WriteHeader(wqe, size == left, out.ulpdu());
  out.End();
  position_.offset += size;
  position_.is_begun = true;
  if (size < left) return FrameSent::kSent;
  if (wqe.opcode == SendOpcode::kWriteWithImmediate) {
    position_.is_immediate = true;
  } else {
    if (!IsWrite(wqe.opcode)) ++next_send_;
    EndMessage();
  }
  return FrameSent::kSent;
}

// Copies the bytes at position_. False if some are not available: the requester waits for pages, or
// the element has failed.
bool IwarpRequester::FillPayload(std::span<std::byte> payload, Step& step) {
  const WqeNumber n = position_.wqe;
  if (const auto inlined = queue_.InlineAt(n); !inlined.empty()) {
    std::memcpy(payload.data(), &inlined[position_.offset], payload.size());
    return true;
  }
  queue::SgeCursor cursor(queue_.SgesAt(n));
  cursor.Seek(position_.offset);
  const Placement found =
      GatherInto(cursor, payload, queue_.LengthAt(n) - position_.offset, config_.who, step.memory);
  if (std::holds_alternative<Placed>(found)) return true;
  if (const auto* const fault = std::get_if<memory::Fault>(&found)) {
    gather_wait_ = WaitFor(*fault, n, step);
  } else {
    FailAt(n,
           {CompletionStatus::kLocalProtectionError,
            CountRefusal(std::get<NakReason>(found), step.refusals)},
           step);
  }
  return false;
}

void IwarpRequester::WriteHeader(const queue::SendWqe& wqe, bool is_last,
                                 std::span<std::byte> ulpdu) const {
  if (IsWrite(wqe.opcode)) {
    const auto& remote = wqe.As<RemoteAddress>();
    DdpTagged{.control = {.tagged = true, .last = is_last, .opcode = RdmapOpcode::kWrite},
              .stag = remote.key,
              .offset = KeyAddress(remote.address + position_.offset)}
        .Serialize(ulpdu);
    return;
  }
  const bool invalidates = wqe.opcode == SendOpcode::kSendWithInvalidate;
  DdpUntagged{.control = {.last = is_last, .opcode = SendOpcodeOf(wqe)},
              .invalidate = invalidates ? wqe.invalidate : Key(),
              .queue = wire::DdpQueue::kSend,
              .msn = next_send_,
              .offset = wire::MessageOffset(static_cast<uint32_t>(position_.offset))}
      .Serialize(ulpdu);
}

FrameSent IwarpRequester::SendImmediate(MpaSender& out) {
  const queue::SendWqe& wqe = queue_.At(position_.wqe);
  if (!out.Begin(DdpUntagged::kSize + wire::RdmapImmediate::kSize)) return FrameSent::kNoRoom;
  DdpUntagged{.control = {.last = true,
                          .opcode = wqe.flags.solicited ? RdmapOpcode::kImmediateSolicited
                                                        : RdmapOpcode::kImmediate},
              .queue = wire::DdpQueue::kSend,
              .msn = next_send_}
      .Serialize(out.ulpdu());
  wire::RdmapImmediate{.data = uint64_t{wqe.immediate.value()} << 32}.Serialize(
      out.ulpdu().subspan(DdpUntagged::kSize));
  out.End();
  ++next_send_;
  EndMessage();
  return FrameSent::kSent;
}

FrameSent IwarpRequester::SendRead(MpaSender& out) {
  const queue::SendWqe& wqe = queue_.At(position_.wqe);
  if (!out.Begin(DdpUntagged::kSize + wire::RdmapReadRequest::kSize)) return FrameSent::kNoRoom;
  const auto& remote = wqe.As<RemoteAddress>();
  const Key sink(next_read_.value());
  DdpUntagged{.control = {.last = true, .opcode = RdmapOpcode::kReadRequest},
              .queue = wire::DdpQueue::kReadRequest,
              .msn = next_read_}
      .Serialize(out.ulpdu());
  wire::RdmapReadRequest{.sink_stag = sink,
                         .size = static_cast<uint32_t>(queue_.LengthAt(position_.wqe)),
                         .source_stag = remote.key,
                         .source_offset = KeyAddress(remote.address)}
      .Serialize(out.ulpdu().subspan(DdpUntagged::kSize));
  out.End();
  AddRead(false, sink);
  return FrameSent::kSent;
}

FrameSent IwarpRequester::SendAtomic(MpaSender& out) {
  const queue::SendWqe& wqe = queue_.At(position_.wqe);
  if (!out.Begin(DdpUntagged::kSize + wire::RdmapAtomicRequest::kSize)) return FrameSent::kNoRoom;
  DdpUntagged{.control = {.last = true, .opcode = RdmapOpcode::kAtomicRequest},
              .queue = wire::DdpQueue::kReadRequest,
              .msn = next_read_}
      .Serialize(out.ulpdu());
  RequestOf(wqe, next_read_).Serialize(out.ulpdu().subspan(DdpUntagged::kSize));
  out.End();
  AddRead(true, Key());
  return FrameSent::kSent;
}

void IwarpRequester::AddRead(bool is_atomic, Key sink) {
  reads_.Add({.wqe = position_.wqe,
              .msn = next_read_,
              .sink = sink,
              .is_atomic = is_atomic,
              .length = static_cast<uint32_t>(queue_.LengthAt(position_.wqe))});
  ++next_read_;
  position_ = {.wqe = Next(position_.wqe)};
}

void IwarpRequester::EndMessage() {
  outstanding_.At(position_.wqe).is_done = true;
  position_ = {.wqe = Next(position_.wqe)};
}

// nullopt if the element has lost pages too often.
std::optional<IwarpRequester::Wait> IwarpRequester::WaitFor(const memory::Fault& fault, WqeNumber n,
                                                            Step& step) {
  if (fault.is_loss && outstanding_.At(n).losses++ >= kLossesMax) {
    FailAt(n, {CompletionStatus::kLocalProtectionError}, step);
    return std::nullopt;
  }
  ++page_waits_;
  const Wait wait{.ticket = FaultTicket(++tickets_), .wqe = n};
  step.outbox.RequestPages({.qp = config_.local_qp, .ticket = wait.ticket, .fault = fault});
  return wait;
}

void IwarpRequester::OnPagesReady(FaultTicket ticket, bool available, Step& step) {
  for (std::optional<Wait>* const wait : {&gather_wait_, &scatter_wait_}) {
    if (!*wait || (*wait)->ticket != ticket) continue;
    const WqeNumber n = (*wait)->wqe;
    wait->reset();
    if (!available) FailAt(n, {CompletionStatus::kLocalProtectionError}, step);
  }
}

void IwarpRequester::OnTime(Step& step) {
  if (delayed_until_ <= step.now) delayed_until_ = Time::Never();
}

}  // namespace verbena::transport
