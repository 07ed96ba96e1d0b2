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

void UcQp::BecomeReadyToReceive(Psn expected) {
  sends_.BecomeReadyToReceive();
  responder_.Start(expected);
}

void UcQp::OnPacket(const wire::Packet& packet, Step& step) {
  if (!TakesRequests(state()) || packet.info().service != wire::Service::kUc) return;
  if (state() == QpState::kRtr && !has_received_) {
    step.outbox.Raise({AsyncEventType::kCommunicationEstablished, qp_});
  }
  has_received_ = true;
  responder_.OnPacket(packet, step);
  if (responder_.failure()) BecomeFailed();
}

void UcQp::OnPagesReady(FaultTicket ticket, bool available, Step& step) {
  sends_.OnPagesReady(ticket, available);
  responder_.OnPagesReady(ticket, available, step);
  if (responder_.failure()) BecomeFailed();
}

bool UcQp::Run(Step& step) {
  const bool has_held = responder_.Run(step);
  if (responder_.failure()) BecomeFailed();
  const bool wants_step = sends_.Run(step);
  if (FlushesReceives(state())) responder_.Flush(step);
  return wants_step || has_held;
}

}  // namespace verbena::transport
