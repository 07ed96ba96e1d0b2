// The answering half of requester.h: what acknowledgements and responses mean for what is under
// way.

#include <algorithm>

#include "base/check.h"
#include "queue/sge_cursor.h"
#include "transport/complete.h"
#include "transport/rc/fault_mark.h"
#include "transport/rc/placement.h"
#include "transport/rc/refusal_mark.h"
#include "transport/rc/requester.h"
#include "wire/roce/aeth.h"
#include "wire/roce/atomic_ack_eth.h"
#include "wire/roce/rnr_timer.h"

namespace verbena::transport {
namespace {

using queue::CompletionStatus;
using queue::WqeNumber;

// IBA table 61: what a NAK means for the element that it is for.
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

// IBA A19: a flush and an atomic write are answered like a read of nothing.
bool IsAnsweredByRead(queue::SendOpcode opcode) {
  return opcode == queue::SendOpcode::kRead || opcode == queue::SendOpcode::kFlush ||
         opcode == queue::SendOpcode::kAtomicWrite;
}

}  // namespace

void Requester::OnResponse(const wire::Packet& packet, Turn& turn) {
  if (has_failed_) return;
  switch (packet.info().operation) {
    case wire::Operation::kAcknowledge:
      if (const auto aeth = packet.Get<wire::Aeth>()) {
        OnAcknowledge(aeth->syndrome, packet, turn);
      }
      break;
    case wire::Operation::kReadResponse:
      OnReadResponse(packet, turn);
      break;
    case wire::Operation::kAtomicAcknowledge:
      OnAtomicResponse(packet, turn);
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
      break;  // not an answer
  }
  CompleteDone(turn);
}

void Requester::OnAcknowledge(wire::Syndrome syndrome, const wire::Packet& packet, Turn& turn) {
  const wire::Bth& bth = packet.bth();
  const wire::Psn psn = bth.psn;
  if (psn == unacked_ - 1 && syndrome.is_ack()) {
    // DESIGN D6: nothing new, and not asked for: the peer's pages are there, go on now.
    retry_.StopWaiting();
    if (IsMarkedFault(bth)) OnHeldRead(turn);
    return;
  }
  // IBA C9-121: an answer to nothing that is under way is a ghost. But a part of a read that is
  // held may have been answered.
  if (UnderWay(psn) >= UnderWay(sent_end_)) {
    if (syndrome.is_ack() && IsMarkedFault(bth) && IsBeforePartOfRead(psn)) OnHeldRead(turn);
    return;
  }
  switch (syndrome.kind()) {
    case wire::Syndrome::Kind::kAck:
      AcknowledgeBefore(psn + 1, turn);
      return;
    case wire::Syndrome::Kind::kRnrNak:
      ++counters_.rnr_naks;
      if (!AcknowledgeBefore(psn, turn)) return;
      if (!IsMarkedFault(bth) && !retry_.TakeRnrRetry()) {
        return FailAt(psn, CompletionStatus::kRnrRetryExceeded, turn);
      }
      GoBack(psn);
      window_.OnNotReady();
      retry_.Wait(turn.now + wire::DurationOf(syndrome.rnr_timer()));
      return;
    case wire::Syndrome::Kind::kNak:
      if (!AcknowledgeBefore(psn, turn)) return;
      if (syndrome.nak_code() == wire::NakCode::kPsnSequenceError) {
        ++counters_.sequence_naks;
        return IsMarkedFault(bth) ? DroppedForPages(psn, turn) : LostFrom(psn, turn);
      }
      return FailAt(psn, StatusOf(syndrome.nak_code()), turn, RefusalMarkOf(packet));
  }
}

// Whether `psn` is the last one before the oldest element under way, a read, or one of its answers.
// Any other packet of the past must not prolong the life of a connection.
bool Requester::IsBeforePartOfRead(wire::Psn psn) const {
  if (flights_.begin() == flights_.end()) return false;
  const Flight& oldest = flights_.At(flights_.begin());
  const wire::Psn before = oldest.first_psn - 1;
  const uint32_t answered = (unacked_ - before.value()).value();
  return oldest.needs_response && (psn - before.value()).value() < answered;
}

// The peer has our read, and waits for pages of its own.
void Requester::OnHeldRead(const Turn& turn) {
  retry_.OnProgress();
  if (retry_.timer_runs()) retry_.StartTimer(turn.now);
}

// The peer has taken in everything before `end`. False when the answer to a read among it is
// missing, which then is asked for again. (IBA C9-129: the implied NAK.)
bool Requester::AcknowledgeBefore(wire::Psn end, Turn& turn) {
  const uint32_t acknowledged = UnderWay(end);
  for (WqeNumber n = flights_.begin(); n < flights_.end(); n = Next(n)) {
    Flight& flight = flights_.At(n);
    if (flight.is_done) continue;
    // What decides over an element: its last packet, or the first one that is not answered.
    const wire::Psn missing = flight.first_psn + flight.responses;
    const wire::Psn decisive = flight.needs_response ? missing : flight.end_psn() - 1;
    if (UnderWay(decisive) >= acknowledged) break;
    if (flight.needs_response) {
      ++counters_.lost_responses;
      Advance(missing, turn);
      AnswerIsMissing(missing, turn);
      return false;
    }
    flight.is_done = true;
  }
  Advance(end, turn);
  return true;
}

// Everything before `unacked` is answered for.
void Requester::Advance(wire::Psn unacked, Turn& turn) {
  const uint32_t progress = UnderWay(unacked);
  if (progress == 0) return;
  // What was to be sent again has arrived meanwhile.
  const bool behind = position_.wqe < flights_.end() &&
                      UnderWay(flights_.At(position_.wqe).first_psn + position_.packet) < progress;
  if (dropped_until_ && UnderWay(*dropped_until_) <= progress) dropped_until_.reset();
  unacked_ = unacked;
  if (behind) GoBack(unacked);
  recovering_.reset();
  window_.OnAcknowledged(progress);
  probe_.OnAcknowledged(unacked_, config_.path, turn);
  retry_.OnProgress();
  retry_.StopWaiting();  // a packet that was not taken at first was, when it came again
  retry_.StopTimer();
  if (sent_end_ != unacked_ && !is_stalled()) retry_.StartTimer(turn.now);
}

void Requester::OnReadResponse(const wire::Packet& packet, Turn& turn) {
  const wire::Psn psn = packet.bth().psn;
  if (UnderWay(psn) >= UnderWay(sent_end_)) return;
  retry_.StopWaiting();  // the peer has taken the request, whatever it said before
  const auto n = flights_.Find(psn);
  if (!n.has_value() || scatter_stall_.has_value()) return;
  if (!IsAnsweredByRead(queue_.At(*n).opcode)) return;
  Flight& flight = flights_.At(*n);
  const wire::Psn expected = flight.first_psn + flight.responses;
  if (!AcknowledgeBefore(expected, turn)) return;
  if (flight.is_done || IsBefore(psn, expected)) return;  // seen before
  if (psn != expected) {
    ++counters_.lost_responses;
    return AnswerIsMissing(expected, turn);
  }
  const uint64_t offset = uint64_t{flight.responses} * config_.path_mtu;
  const bool is_read = queue_.At(*n).opcode == queue::SendOpcode::kRead;
  const uint64_t left = is_read ? flight.byte_count - offset : 0;
  const uint64_t size = std::min<uint64_t>(config_.path_mtu, left);
  const auto aeth = packet.Get<wire::Aeth>();
  const bool is_last = flight.responses + 1 == flight.psn_count;
  // The last packet ends a message; others do where a request for a part has its end.
  if (packet.payload().size() != size || (is_last && !packet.info().ends_message()) ||
      (aeth.has_value() && !aeth->syndrome.is_ack())) {
    return FailAt(psn, CompletionStatus::kBadResponse, turn);
  }
  if (size > 0 && !Scatter(turn, *n, offset, packet.payload(), psn)) return;
  ++flight.responses;
  if (is_last) {
    flight.is_done = true;
    --reads_under_way_;
  }
  Advance(psn + 1, turn);
}

void Requester::OnAtomicResponse(const wire::Packet& packet, Turn& turn) {
  const wire::Psn psn = packet.bth().psn;
  if (UnderWay(psn) >= UnderWay(sent_end_)) return;
  retry_.StopWaiting();
  const auto n = flights_.Find(psn);
  const auto original = packet.Get<wire::AtomicAckEth>();
  if (!n.has_value() || scatter_stall_.has_value() || !original.has_value()) return;
  if (!flights_.At(*n).needs_response || IsAnsweredByRead(queue_.At(*n).opcode)) return;
  if (!AcknowledgeBefore(psn, turn)) return;
  Flight& flight = flights_.At(*n);
  if (flight.is_done) return;
  // The program reads the word as a number of its own machine.
  const uint64_t word = original->original;
  const auto bytes = std::as_bytes(std::span(&word, 1));
  if (!Scatter(turn, *n, 0, bytes, psn)) return;
  flight.responses = 1;
  flight.is_done = true;
  --reads_under_way_;
  Advance(psn + 1, turn);
}

// Puts bytes of an answer where the element says. False when that cannot be done now.
bool Requester::Scatter(Turn& turn, WqeNumber n, uint64_t offset, std::span<const std::byte> bytes,
                        wire::Psn psn) {
  queue::SgeCursor cursor(queue_.SgesAt(n));
  cursor.Seek(offset);
  const memory::Accessor& who = queue_.At(n).flags.internal ? rendezvous_->who() : config_.who;
  const Placement placed =
      ScatterSend(cursor, bytes, queue_.LengthAt(n) - offset, who, turn.memory);
  if (std::holds_alternative<Placed>(placed)) return true;
  if (const auto* fault = std::get_if<memory::Fault>(&placed)) {
    scatter_stall_ = StallFor(*fault, psn, turn);
  } else {
    FailAt(psn, CompletionStatus::kLocalProtectionError, turn,
           CountRefusal(std::get<Cause>(placed), turn.refusals));
  }
  return false;
}

// One that was dropped here is asked for again already, and may come behind the answer to a
// duplicate that shows that it is missing. Should it be lost on its way the timer tells.
void Requester::AnswerIsMissing(wire::Psn psn, Turn& turn) {
  if (dropped_until_ && UnderWay(psn) < UnderWay(*dropped_until_)) return;
  LostFrom(psn, turn);
}

// The peer lacks, or has not answered, what begins at `psn`: sends it again, unless that is being
// done or has been tried too often.
void Requester::LostFrom(wire::Psn psn, Turn& turn) {
  if (sent_end_ == unacked_ || recovering_ == psn || scatter_stall_.has_value()) return;
  if (!retry_.TakeRetry()) return FailAt(psn, CompletionStatus::kRetryExceeded, turn);
  recovering_ = psn;
  window_.OnLoss();
  probe_.OnNoticedLoss();
  GoBack(psn);
  retry_.StartTimer(turn.now);
}

// The peer dropped what begins at `psn` while pages of its own were absent. They are there now.
void Requester::DroppedForPages(wire::Psn psn, Turn& turn) {
  if (sent_end_ == unacked_ || scatter_stall_.has_value()) return;
  recovering_ = psn;
  window_.OnNotReady();
  GoBack(psn);
  retry_.StartTimer(turn.now);
}

// Sending goes on from `psn`.
void Requester::GoBack(wire::Psn psn) {
  const auto n = flights_.Find(psn);
  if (!n.has_value()) {
    position_ = {flights_.end(), 0};
    return;
  }
  const Flight& flight = flights_.At(*n);
  position_ = {*n, (psn - flight.first_psn.value()).value()};
}

// The element at `psn` ends in error, once those before it have ended; nothing behind it is done.
void Requester::FailAt(wire::Psn psn, CompletionStatus status, Turn& turn,
                       VendorError vendor_error) {
  const auto n = flights_.Find(psn);
  CHECK(n.has_value());
  Flight& flight = flights_.At(*n);
  reads_under_way_ -= flight.needs_response && !flight.is_done ? 1 : 0;
  flight.is_done = true;
  flight.status = status;
  flight.vendor_error = vendor_error;
  is_blocked_ = true;
  CompleteDone(turn);
}

// Inlined where it is called once per message. The element's place is free before its completion is
// seen: who has polled it may post again at once, on another thread.
[[gnu::always_inline]] inline void Requester::Complete(WqeNumber n, CompletionStatus status,
                                                       uint32_t byte_count, Turn& turn,
                                                       VendorError vendor_error) {
  const queue::SendWqe& wqe = queue_.At(n);
  if (wqe.flags.internal) [[unlikely]] {
    return CompleteInternal(n, status, byte_count, turn);
  }
  queue::Completion completion;
  completion.id = wqe.id;
  completion.qp = queue::QpNumber(config_.local_qp.value());
  completion.status = status;
  completion.opcode = queue::CompletionOpcodeOf(wqe.opcode);
  completion.byte_count = byte_count;
  completion.vendor_error = vendor_error;
  const bool solicited = wqe.flags.solicited;
  queue_.Retire(n);
  if (transport::Complete(completion, solicited, cq_, turn)) [[likely]] {
    return;
  }
  FailForLostCompletion(turn);
}

[[gnu::noinline]] void Requester::CompleteInternal(WqeNumber n, CompletionStatus status,
                                                   uint32_t byte_count, Turn& turn) {
  const queue::SendWqe wqe = queue_.At(n);
  queue_.Retire(n);
  if (!rendezvous_->OnEnded(wqe, status, byte_count, turn)) FailForLostCompletion(turn);
}

// IBA 11.6.3.1: a completion that finds no room is lost, and with it the queue pair.
[[gnu::noinline]] void Requester::FailForLostCompletion(Turn& turn) {
  if (has_failed_) return;
  turn.outbox.Raise({AsyncEventType::kQpFatal, config_.local_qp});
  has_failed_ = true;
}

// Flattened: the push is on the way of every request, and has more callers than are inlined.
[[gnu::flatten]] void Requester::CompleteDone(Turn& turn) {
  while (!flights_.empty() && flights_.front().is_done && !has_failed_) {
    const WqeNumber n = flights_.begin();
    const Flight& flight = flights_.front();
    if (flight.status != CompletionStatus::kSuccess) [[unlikely]] {
      return CompleteFailed(n, flight, turn);
    }
    const uint32_t byte_count = flight.byte_count;
    if (position_.wqe == n) position_ = {Next(n), 0};
    flights_.RetireFront();
    if (queue_.At(n).flags.signaled) {
      Complete(n, CompletionStatus::kSuccess, byte_count, turn);
    } else {
      queue_.Retire(n);
    }
  }
}

[[gnu::noinline]] void Requester::CompleteFailed(WqeNumber n, const Flight& flight, Turn& turn) {
  failed_to_register_ = IsFailedRegistration(n, flight);
  const bool may_be_setback =
      failed_to_register_ && config_.registration == RegistrationMode::kReactive;
  Complete(n, flight.status, flight.byte_count, turn, flight.vendor_error);
  if (may_be_setback && !has_failed_) {
    FlushQueue(turn);
    is_blocked_ = false;
    had_setback_ = true;
  } else {
    flights_.RetireFront();
    has_failed_ = true;
  }
}

// Row B3: in reactive mode it costs the work behind it, and not the connection. All before it has
// ended, and nothing of it is on the wire.
bool Requester::IsFailedRegistration(WqeNumber n, const Flight& flight) const {
  return flight.psn_count == 0 && queue::PropertiesOf(queue_.At(n).opcode).registers;
}

void Requester::FlushQueue(Turn& turn) {
  for (WqeNumber n = queue_.begin(); n < queue_.end(); n = Next(n)) {
    Complete(n, CompletionStatus::kFlushed, 0, turn);
  }
  flights_.Reset(queue_.begin());
  position_ = {queue_.begin(), 0};
}

}  // namespace verbena::transport
