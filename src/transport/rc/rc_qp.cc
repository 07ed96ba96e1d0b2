#include "transport/rc/rc_qp.h"

#include "base/check.h"
#include "wire/roce/bth.h"

namespace verbena::transport {

void RcQp::BecomeReadyToReceive(Psn expected) {
  CHECK(state_ == QpState::kInit);
  responder_.Start(expected);
  state_ = QpState::kRtr;
}

void RcQp::BecomeReadyToSend(Psn first) {
  CHECK(state_ == QpState::kRtr);
  state_ = QpState::kRts;
  requester_.Start(first);
}

void RcQp::Configure(const RcConfig& config) {
  CHECK(config.type == this->config().type && config.local_qp == this->config().local_qp);
  requester_.Configure(config);
  responder_.Configure(config);
}

void RcQp::Drain(bool notify) {
  CHECK(state_ == QpState::kRts);
  state_ = QpState::kSqd;
  drain_was_reported_ = !notify;
}

void RcQp::ResumeSends() {
  CHECK(state_ == QpState::kSqd);
  state_ = QpState::kRts;
  is_flushing_ = false;
  requester_.Resume();
}

// IBA 10.3.1.5: one event per drain.
void RcQp::ReportDrained(Step& step) {
  if (drain_was_reported_ || !requester_.is_drained()) return;
  drain_was_reported_ = true;
  step.outbox.Raise({AsyncEventType::kSendQueueDrained, config().local_qp});
}

void RcQp::OnPacket(const wire::Packet& packet, Step& step) {
  if (!TakesRequests(state_) || packet.info().service != config().service()) return;
  if (state_ == QpState::kRtr && !has_received_) {
    // The program may wait for this event before it moves the queue pair to RTS.
    step.outbox.Raise({AsyncEventType::kCommunicationEstablished, config().local_qp});
  }
  has_received_ = true;
  if (packet.info().is_request) {
    // The sending end of an extended connection executes no requests.
    if (config().type != QpType::kXrcSend) responder_.OnRequest(packet, step);
  } else if (FinishesSends(state_)) {
    requester_.OnResponse(packet, step);
  }
}

void RcQp::OnPagesReady(FaultTicket ticket, bool available, Step& step) {
  requester_.OnPagesReady(ticket, available, step);
  responder_.OnPagesReady(ticket, available, step);
}

bool RcQp::TakeBack(const OutPacket& packet, bool is_loss, Step& step) {
  const auto bth = wire::Bth::Parse(packet.header);
  if (state_ == QpState::kErr) return is_loss;
  if (IsRequest(packet)) {
    requester_.TakeBack(bth->psn, is_loss, step);
    return true;
  }
  return responder_.TakeBack(packet, is_loss, step);
}

void RcQp::OnTime(Step& step) {
  if (FinishesSends(state_)) requester_.OnTime(step);
  if (TakesRequests(state_)) responder_.OnTime(step);
}

// True if the requester has more to send than there was room for.
//
// On the same machine requests go first: the system puts an acknowledgement into one message with
// the packets before it, because it is shorter than most of them. On other paths an acknowledgement
// is a datagram of its own anyway, and goes first. So the peer's send completes before the message
// that responds to it arrives, as with hardware adapters: programs that wait for both on one
// channel rely on it.
bool RcQp::Pump(Step& step) {
  const bool takes = TakesRequests(state_);
  if (takes && !config().peer_is_here && responder_.has_only_acks_due()) responder_.Pump(step);
  // Half of the room is for responses.
  const size_t held_room = takes && responder_.wants_step() ? (step.outbox.room() + 1) / 2 : 0;
  const bool wants_room =
      FinishesSends(state_) && requester_.Pump(step, StartsSends(state_), held_room);
  if (takes) responder_.Pump(step);
  return wants_room;
}

// Row B3, anticipatory: RoCE has no Terminate message, and a queue pair in error does not respond.
// The peer's outstanding requests can still get a remote operational error (IBA 9.9.3). False if
// there was no room for it.
bool RcQp::ReportToPeer(Step& step) {
  if (config().registration != RegistrationMode::kAnticipatory) return true;
  if (!peer_was_notified_) responder_.Abandon(step);
  peer_was_notified_ = true;
  responder_.Pump(step);
  return !responder_.wants_step();
}

bool RcQp::Run(Step& step) {
  if (rendezvous_ && state_ != QpState::kErr && !is_flushing_) rendezvous_->Post();
  const bool wants_room = Pump(step);
  if (requester_.TakeSqdFailure()) {
    state_ = QpState::kSqd;
    is_flushing_ = true;
    drain_was_reported_ = false;
  }
  if (is_flushing_ && state_ == QpState::kSqd) requester_.FlushPosted(step);
  if (state_ == QpState::kSqd) ReportDrained(step);
  if (requester_.failed_to_register() && state_ != QpState::kErr && !ReportToPeer(step))
    return true;
  if (requester_.has_failed() ||
      (responder_.failure().has_value() && !responder_.has_responses_due())) {
    state_ = QpState::kErr;
  }
  if (state_ == QpState::kErr) {
    requester_.Flush(step);
    responder_.Flush(step);
    if (rendezvous_) rendezvous_->Flush(step);
    return false;
  }
  return wants_room || responder_.wants_step();
}

}  // namespace verbena::transport
