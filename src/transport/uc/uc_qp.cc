#include "transport/uc/uc_qp.h"

namespace verbena::transport {
namespace {

SenderConfig SenderConfigOf(const UcConfig& config) {
  return {.local_qp = config.local_qp,
          .p_key = config.p_key,
          .path_mtu = config.path_mtu,
          .who = config.who,
          .registration = config.registration,
          .peers = ConnectedPeer{.qp = config.remote_qp, .path = config.path}};
}

}  // namespace

UcQp::UcQp(const UcConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
           queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq)
    : qp_(config.local_qp),
      sends_(SenderConfigOf(config), send_queue, send_cq),
      responder_(config, receives, receive_cq) {}

void UcQp::Configure(const UcConfig& config) {
  sends_.Configure(SenderConfigOf(config));
  responder_.Configure(config);
}

void UcQp::BecomeReadyToReceive(wire::Psn expected) {
  sends_.BecomeReadyToReceive();
  responder_.Start(expected);
}

void UcQp::OnPacket(const wire::Packet& packet, Turn& turn) {
  if (!TakesRequests(state()) || packet.info().service != wire::Service::kUc) return;
  if (state() == QpState::kRtr && !has_heard_) {
    turn.outbox.Raise({AsyncEventType::kCommunicationEstablished, qp_});
  }
  has_heard_ = true;
  responder_.OnPacket(packet, turn);
  if (responder_.failure()) BecomeFailed();
}

void UcQp::OnPagesReady(FaultTicket ticket, bool available, Turn& turn) {
  sends_.OnPagesReady(ticket, available);
  responder_.OnPagesReady(ticket, available, turn);
  if (responder_.failure()) BecomeFailed();
}

bool UcQp::Run(Turn& turn) {
  const bool has_kept = responder_.Run(turn);
  if (responder_.failure()) BecomeFailed();
  const bool wants_turn = sends_.Run(turn);
  if (FlushesReceives(state())) responder_.Flush(turn);
  return wants_turn || has_kept;
}

}  // namespace verbena::transport
