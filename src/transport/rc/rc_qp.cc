#include "transport/rc/rc_qp.h"

#include "base/check.h"

namespace verbena::transport {

void RcQp::BecomeReadyToReceive(wire::Psn expected) {
  CHECK(state_ == QpState::kInit);
  state_ = QpState::kRtr;
  responder_.Start(expected);
}

void RcQp::BecomeReadyToSend(wire::Psn first) {
  CHECK(state_ == QpState::kRtr);
  state_ = QpState::kRts;
  requester_.Start(first);
}

void RcQp::OnPacket(const wire::Packet& packet, Turn& turn) {
  if (!TakesRequests(state_) || packet.info().service != wire::Service::kRc) return;
  if (state_ == QpState::kRtr && !has_heard_) {
    // The program may have been told to wait for this before it goes on to send.
    turn.outbox.Raise({AsyncEventType::kCommunicationEstablished, config_.local_qp});
  }
  has_heard_ = true;
  if (packet.info().is_request) {
    responder_.OnRequest(packet, turn);
  } else if (FinishesSends(state_)) {
    requester_.OnResponse(packet, turn);
  }
}

void RcQp::OnPagesReady(FaultTicket ticket, bool available, Turn& turn) {
  requester_.OnPagesReady(ticket, available, turn);
  responder_.OnPagesReady(ticket, available, turn);
}

void RcQp::OnTime(Turn& turn) {
  if (FinishesSends(state_)) requester_.OnTime(turn);
}

bool RcQp::Run(Turn& turn) {
  if (TakesRequests(state_)) responder_.Pump(turn);
  if (state_ == QpState::kRts) requester_.Pump(turn);
  if (requester_.has_failed() || (responder_.failure().has_value() && !responder_.owes_answers())) {
    state_ = QpState::kErr;
  }
  if (state_ == QpState::kErr) {
    requester_.Flush(turn);
    responder_.Flush(turn);
    return false;
  }
  return responder_.wants_turn();
}

}  // namespace verbena::transport
