// The receiving part of requester.h: the effect of acknowledgements and responses on outstanding
// requests.

#include <algorithm>

#include "base/check.h"
#include "queue/sge_cursor.h"
#include "transport/common/complete.h"
#include "transport/common/placement.h"
#include "transport/rc/requester.h"
#include "transport/rc/response_marks.h"
#include "wire/roce/aeth.h"
#include "wire/roce/atomic_ack_eth.h"
#include "wire/roce/timer_codes.h"

namespace verbena::transport {
namespace {
using queue::WqeNumber;

// IBA table 61: the status of the element that a NAK refers to.
CompletionStatus StatusOf(wire::NakCode code) {
  switch (code) {
    case wire::NakCode::kInvalidRequest:
      return CompletionStatus::kRemoteInvalidRequest;
    case wire::NakCode::kRemoteAccessError:
      return CompletionStatus::kRemoteAccessError;
    case wire::NakCode::kRemoteOperationalError:
      return CompletionStatus::kRemoteOperationError;
    case wire::NakCode::kPsnSequenceError:
    case wire::NakCode::kInvalidRdRequest:
      break;
  }
  return CompletionStatus::kBadResponse;
}

// IBA A19: the response to a flush or an atomic write is that to a read of no bytes.
bool IsAnsweredByRead(queue::SendOpcode opcode) {
  return opcode == queue::SendOpcode::kRead || opcode == queue::SendOpcode::kFlush ||
         opcode == queue::SendOpcode::kAtomicWrite;
}

}  // namespace

void Requester::OnResponse(const wire::Packet& packet, Step& step) {
  if (has_failed_) return;
  switch (packet.info().operation) {
    case wire::Operation::kAcknowledge:
      if (const auto aeth = packet.Get<wire::Aeth>()) {
        OnAcknowledge(aeth->syndrome, packet, step);
      }
      break;
    case wire::Operation::kReadResponse:
      OnReadResponse(packet, step);
      break;
    case wire::Operation::kAtomicAcknowledge:
      OnAtomicResponse(packet, step);
      break;
    case wire::Operation::kSend:
    case wire::Operation::kWrite:
    case wire::Operation::kReadRequest:
    case wire::Operation::kCompareSwap:
    case wire::Operation::kFetchAdd:
    case wire::Operation::kResync:
    case wire::Operation::kFlush:
    case wire::Operation::kAtomicWrite:
    case wire::Operation::kCongestionNotification:
      break;  // not a response
  }
  CompleteDone(step);
}

void Requester::OnAcknowledge(wire::Syndrome syndrome, const wire::Packet& packet, Step& step) {
  const wire::Bth& bth = packet.bth();
  const Psn psn = bth.psn;
  if (psn == unacked_ - 1 && syndrome.is_ack()) {
    // DESIGN D6: an unrequested duplicate says that the pages of the peer are present: continue
    // now.
    retry_.StopWaiting();
    if (IsMarkedFault(bth)) OnHeldRead(step);
    return;
  }
  // IBA C9-121: a response to no outstanding request is a ghost acknowledgement. But responses to a
  // part of a read that is held may have arrived.
  if (UnderWay(psn) >= UnderWay(sent_end_)) {
    if (syndrome.is_ack() && IsMarkedFault(bth) && IsBeforePartOfRead(psn)) OnHeldRead(step);
    return;
  }
  switch (syndrome.kind()) {
    case wire::Syndrome::Kind::kAck:
      AcknowledgeBefore(psn + 1, step);
      return;
    case wire::Syndrome::Kind::kRnrNak:
      ++counters_.rnr_naks;
      if (!AcknowledgeBefore(psn, step)) return;
      if (!IsMarkedFault(bth) && !retry_.TakeRnrRetry()) {
        return FailAt(psn, CompletionStatus::kRnrRetryExceeded, step);
      }
      Rewind(psn);
      window_.OnNotReady();
      retry_.Wait(step.now + wire::DurationOf(syndrome.rnr_timer()));
      return;
    case wire::Syndrome::Kind::kNak:
      if (!AcknowledgeBefore(psn, step)) return;
      if (syndrome.nak_code() == wire::NakCode::kPsnSequenceError) {
        ++counters_.sequence_naks;
        return IsMarkedFault(bth) ? OnDroppedForPages(psn, step) : RetransmitFrom(psn, step);
      }
      return FailAt(psn, StatusOf(syndrome.nak_code()), step, RefusalMarkOf(packet));
  }
}

// Whether `psn` is that of the last packet before the oldest outstanding request, if this is a
// read, or that of one of its responses. Other old packets must not keep a connection alive.
bool Requester::IsBeforePartOfRead(Psn psn) const {
  if (outstanding_.begin() == outstanding_.end()) return false;
  const OutstandingRequest& oldest = outstanding_.At(outstanding_.begin());
  const Psn before = oldest.first_psn - 1;
  const uint32_t answered = (unacked_ - before.value()).value();
  return oldest.needs_response && (psn - before.value()).value() < answered;
}

// The peer has the read, and waits for its own pages.
void Requester::OnHeldRead(const Step& step) {
  retry_.OnProgress();
  if (retry_.timer_runs()) retry_.StartTimer(step.now);
}

// The peer has executed everything before `end`. False if a response to a read among it is missing;
// the response is then requested again. (IBA C9-129: implied NAK.)
bool Requester::AcknowledgeBefore(Psn end, Step& step) {
  const uint32_t acknowledged = UnderWay(end);
  for (WqeNumber n = outstanding_.begin(); n < outstanding_.end(); n = Next(n)) {
    OutstandingRequest& outstanding = outstanding_.At(n);
    if (outstanding.is_done) continue;
    // An element is done when its last packet is acknowledged, or when its first missing response
    // is.
    const Psn missing = outstanding.first_psn + outstanding.responses;
    const Psn decisive = outstanding.needs_response ? missing : outstanding.end_psn() - 1;
    if (UnderWay(decisive) >= acknowledged) break;
    if (outstanding.needs_response) {
      ++counters_.lost_responses;
      Advance(missing, step);
      OnMissingResponse(missing, step);
      return false;
    }
    outstanding.is_done = true;
  }
  Advance(end, step);
  return true;
}

// Everything before `unacked` is acknowledged or has its response.
void Requester::Advance(Psn unacked, Step& step) {
  const uint32_t progress = UnderWay(unacked);
  if (progress == 0) return;
  // The packets that were to be retransmitted have been acknowledged meanwhile.
  const bool behind =
      position_.wqe < outstanding_.end() &&
      UnderWay(outstanding_.At(position_.wqe).first_psn + position_.packet) < progress;
  if (dropped_until_ && UnderWay(*dropped_until_) <= progress) dropped_until_.reset();
  unacked_ = unacked;
  if (behind) Rewind(unacked);
  recovering_.reset();
  window_.OnAcknowledged(progress);
  probe_.OnAcknowledged(unacked_, config_.path, step);
  retry_.OnProgress();
  retry_.StopWaiting();  // the peer has accepted a packet that it refused before
  retry_.StopTimer();
  if (sent_end_ != unacked_ && !is_stalled()) retry_.StartTimer(step.now);
}

void Requester::OnReadResponse(const wire::Packet& packet, Step& step) {
  const Psn psn = packet.bth().psn;
  if (UnderWay(psn) >= UnderWay(sent_end_)) return;
  retry_.StopWaiting();  // the peer has accepted the request after an RNR NAK
  const auto n = outstanding_.Find(psn);
  if (!n.has_value() || scatter_stall_.has_value()) return;
  if (!IsAnsweredByRead(queue_.At(*n).opcode)) return;
  OutstandingRequest& outstanding = outstanding_.At(*n);
  const Psn expected = outstanding.first_psn + outstanding.responses;
  if (!AcknowledgeBefore(expected, step)) return;
  if (outstanding.is_done || IsBefore(psn, expected)) return;  // a duplicate
  if (psn != expected) {
    ++counters_.lost_responses;
    return OnMissingResponse(expected, step);
  }
  const uint64_t offset = uint64_t{outstanding.responses} * config_.path_mtu;
  const bool is_read = queue_.At(*n).opcode == queue::SendOpcode::kRead;
  const uint64_t left = is_read ? outstanding.byte_count - offset : 0;
  const uint64_t size = std::min<uint64_t>(config_.path_mtu, left);
  const auto aeth = packet.Get<wire::Aeth>();
  const bool is_last = outstanding.responses + 1 == outstanding.psn_count;
  // The last packet ends a message. Others may, at the end of a request for a part of the read.
  if (packet.payload().size() != size || (is_last && !packet.info().ends_message()) ||
      (aeth.has_value() && !aeth->syndrome.is_ack())) {
    return FailAt(psn, CompletionStatus::kBadResponse, step);
  }
  if (size > 0 && !Scatter(step, *n, offset, packet.payload(), psn)) return;
  ++outstanding.responses;
  if (is_last) {
    outstanding.is_done = true;
    --reads_under_way_;
  }
  Advance(psn + 1, step);
}

void Requester::OnAtomicResponse(const wire::Packet& packet, Step& step) {
  const Psn psn = packet.bth().psn;
  if (UnderWay(psn) >= UnderWay(sent_end_)) return;
  retry_.StopWaiting();
  const auto n = outstanding_.Find(psn);
  const auto original = packet.Get<wire::AtomicAckEth>();
  if (!n.has_value() || scatter_stall_.has_value() || !original.has_value()) return;
  if (!outstanding_.At(*n).needs_response || IsAnsweredByRead(queue_.At(*n).opcode)) return;
  if (!AcknowledgeBefore(psn, step)) return;
  OutstandingRequest& outstanding = outstanding_.At(*n);
  if (outstanding.is_done) return;
  // The program reads the value in the byte order of its machine.
  const uint64_t word = original->original;
  const auto bytes = std::as_bytes(std::span(&word, 1));
  if (!Scatter(step, *n, 0, bytes, psn)) return;
  outstanding.responses = 1;
  outstanding.is_done = true;
  --reads_under_way_;
  Advance(psn + 1, step);
}

// Writes bytes of a response to the memory of the element. False if that is not possible now.
bool Requester::Scatter(Step& step, WqeNumber n, uint64_t offset, std::span<const std::byte> bytes,
                        Psn psn) {
  queue::SgeCursor cursor(queue_.SgesAt(n));
  cursor.Seek(offset);
  const memory::Accessor& who = queue_.At(n).internal ? rendezvous_->who() : config_.who;
  const Placement placed =
      ScatterSend(cursor, bytes, queue_.LengthAt(n) - offset, who, step.memory);
  if (std::holds_alternative<Placed>(placed)) return true;
  if (const auto* fault = std::get_if<memory::Fault>(&placed)) {
    scatter_stall_ = StallFor(*fault, psn, step);
  } else {
    FailAt(psn, CompletionStatus::kLocalProtectionError, step,
           CountRefusal(std::get<NakReason>(placed), step.refusals));
  }
  return false;
}

// A response that was dropped here is already requested again, and may arrive after the response to
// a duplicate that shows that it is missing. If it is lost, the timer expires.
void Requester::OnMissingResponse(Psn psn, Step& step) {
  if (dropped_until_ && UnderWay(psn) < UnderWay(*dropped_until_)) return;
  RetransmitFrom(psn, step);
}

// The peer did not get, or did not answer, the packets from `psn` on: retransmits them, unless that
// is in progress or was tried too often.
void Requester::RetransmitFrom(Psn psn, Step& step) {
  if (sent_end_ == unacked_ || recovering_ == psn || scatter_stall_.has_value()) return;
  if (!retry_.TakeRetry()) return FailAt(psn, CompletionStatus::kRetryExceeded, step);
  recovering_ = psn;
  window_.OnLoss();
  probe_.OnNoticedLoss();
  Rewind(psn);
  retry_.StartTimer(step.now);
}

// The peer dropped the packets from `psn` on because its pages were absent. The pages are present
// now.
void Requester::OnDroppedForPages(Psn psn, Step& step) {
  if (sent_end_ == unacked_ || scatter_stall_.has_value()) return;
  recovering_ = psn;
  window_.OnNotReady();
  Rewind(psn);
  retry_.StartTimer(step.now);
}

// Continues sending at `psn`.
void Requester::Rewind(Psn psn) {
  const auto n = outstanding_.Find(psn);
  if (!n.has_value()) {
    position_ = {outstanding_.end(), 0};
    return;
  }
  const OutstandingRequest& outstanding = outstanding_.At(*n);
  position_ = {*n, (psn - outstanding.first_psn.value()).value()};
}

// The element at `psn` fails after those before it have completed. No element after it is executed.
void Requester::FailAt(Psn psn, CompletionStatus status, Step& step, VendorError vendor_error) {
  const auto n = outstanding_.Find(psn);
  CHECK(n.has_value());
  OutstandingRequest& outstanding = outstanding_.At(*n);
  reads_under_way_ -= outstanding.needs_response && !outstanding.is_done ? 1 : 0;
  outstanding.is_done = true;
  outstanding.status = status;
  outstanding.vendor_error = vendor_error;
  is_blocked_ = true;
  CompleteDone(step);
}

// Inlined where it is called once per message. The element is retired before its completion is
// visible, because a program that polls the completion may post again at once, on another thread.
[[gnu::always_inline]] inline void Requester::Complete(WqeNumber n, CompletionStatus status,
                                                       uint32_t byte_count, Step& step,
                                                       VendorError vendor_error) {
  const queue::SendWqe& wqe = queue_.At(n);
  if (wqe.internal) [[unlikely]] {
    return CompleteInternal(n, status, byte_count, step);
  }
  Completion completion;
  completion.id = wqe.id;
  completion.qp = config_.local_qp;
  completion.status = status;
  completion.opcode = queue::CompletionOpcodeOf(wqe.opcode);
  completion.byte_count = byte_count;
  completion.vendor_error = vendor_error;
  const bool solicited = wqe.flags.solicited;
  queue_.Retire(n);
  if (transport::Complete(completion, solicited, cq_, step)) [[likely]] {
    return;
  }
  FailForLostCompletion(step);
}

[[gnu::noinline]] void Requester::CompleteInternal(WqeNumber n, CompletionStatus status,
                                                   uint32_t byte_count, Step& step) {
  const queue::SendWqe wqe = queue_.At(n);
  queue_.Retire(n);
  if (!rendezvous_->OnEnded(wqe, status, byte_count, step)) FailForLostCompletion(step);
}

// IBA 11.6.3.1: a completion that finds no room is lost, and the queue pair goes into error.
[[gnu::noinline]] void Requester::FailForLostCompletion(Step& step) {
  if (has_failed_) return;
  step.outbox.Raise({AsyncEventType::kQpFatal, config_.local_qp});
  has_failed_ = true;
}

// Flattened: every request pushes a completion, and the push has too many callers to be inlined
// otherwise.
[[gnu::flatten]] void Requester::CompleteDone(Step& step) {
  while (!outstanding_.empty() && outstanding_.front().is_done && !has_failed_) {
    const WqeNumber n = outstanding_.begin();
    const OutstandingRequest& outstanding = outstanding_.front();
    if (outstanding.status != CompletionStatus::kSuccess) [[unlikely]] {
      return CompleteFailed(n, outstanding, step);
    }
    const uint32_t byte_count = outstanding.byte_count;
    if (position_.wqe == n) position_ = {Next(n), 0};
    outstanding_.RetireFront();
    if (queue_.At(n).flags.signaled) {
      Complete(n, CompletionStatus::kSuccess, byte_count, step);
    } else {
      queue_.Retire(n);
    }
  }
}

[[gnu::noinline]] void Requester::CompleteFailed(WqeNumber n, const OutstandingRequest& outstanding,
                                                 Step& step) {
  failed_to_register_ = IsFailedRegistration(n, outstanding);
  const bool may_be_sqd_failure =
      failed_to_register_ && config_.registration == RegistrationMode::kReactive;
  Complete(n, outstanding.status, outstanding.byte_count, step, outstanding.vendor_error);
  if (may_be_sqd_failure && !has_failed_) {
    FlushQueue(step);
    is_blocked_ = false;
    had_sqd_failure_ = true;
  } else {
    outstanding_.RetireFront();
    has_failed_ = true;
  }
}

// Row B3: in reactive mode the failure flushes the elements after it, and does not end the
// connection. All elements before it have completed, and it has sent nothing.
bool Requester::IsFailedRegistration(WqeNumber n, const OutstandingRequest& outstanding) const {
  return outstanding.psn_count == 0 && queue::PropertiesOf(queue_.At(n).opcode).registers;
}

void Requester::FlushQueue(Step& step) {
  for (WqeNumber n = queue_.begin(); n < queue_.end(); n = Next(n)) {
    Complete(n, CompletionStatus::kFlushed, 0, step);
  }
  outstanding_.Reset(queue_.begin());
  position_ = {queue_.begin(), 0};
}

}  // namespace verbena::transport
