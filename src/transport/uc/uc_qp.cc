#include "transport/uc/uc_qp.h"

#include "base/check.h"

namespace verbena::transport {
namespace {

SenderConfig SenderConfigOf(const UcConfig& config) {
  return {.local_qp = config.local_qp,
          .p_key = config.p_key,
          .path_mtu = config.path_mtu,
          .who = config.who,
          .peers = ConnectedPeer{.qp = config.remote_qp, .path = config.path}};
}

}  // namespace

UcQp::UcQp(const UcConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
           queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq)
    : config_(config),
      sender_(SenderConfigOf(config), send_queue, send_cq),
      responder_(config, receives, receive_cq) {}

void UcQp::BecomeReadyToReceive(wire::Psn expected) {
  CHECK(state_ == QpState::kInit);
  state_ = QpState::kRtr;
  responder_.Start(expected);
}

void UcQp::BecomeReadyToSend(wire::Psn first) {
  CHECK(state_ == QpState::kRtr);
  state_ = QpState::kRts;
  sender_.Start(first);
}

void UcQp::ResumeSends() {
  CHECK(state_ == QpState::kSqe);
  state_ = QpState::kRts;
  sender_.Resume();
}

void UcQp::OnPacket(const wire::Packet& packet, Turn& turn) {
  if (!TakesRequests(state_) || packet.info().service != wire::Service::kUc) return;
  if (state_ == QpState::kRtr && !has_heard_) {
    turn.outbox.Raise({AsyncEventType::kCommunicationEstablished, config_.local_qp});
  }
  has_heard_ = true;
  responder_.OnPacket(packet, turn);
  if (responder_.failure()) state_ = QpState::kErr;
}

void UcQp::OnPagesReady(FaultTicket ticket, bool available, Turn& turn) {
  sender_.OnPagesReady(ticket, available);
  responder_.OnPagesReady(ticket, available, turn);
  if (responder_.failure()) state_ = QpState::kErr;
}

bool UcQp::Run(Turn& turn) {
  if (state_ == QpState::kRts) sender_.Pump(turn);
  if (state_ == QpState::kRts && sender_.has_failed()) state_ = StateAfterSendError(QpType::kUc);
  if (FlushesSends(state_)) sender_.Flush(turn);
  if (FlushesReceives(state_)) responder_.Flush(turn);
  return state_ == QpState::kRts && sender_.wants_turn();
}

}  // namespace verbena::transport
