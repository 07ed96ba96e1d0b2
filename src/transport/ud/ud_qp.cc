#include "transport/ud/ud_qp.h"

#include "base/check.h"
#include "transport/resident_pages.h"
#include "wire/roce/deth.h"

namespace verbena::transport {
namespace {

using queue::CompletionStatus;

// The sender of the same queue pair counts its tickets from below.
constexpr uint64_t kTicketsOfReceiver = uint64_t{1} << 63;

SenderConfig SenderConfigOf(const UdConfig& config) {
  return {.local_qp = config.local_qp,
          .p_key = config.p_key,
          .path_mtu = config.path_mtu,
          .who = config.who,
          .registration = config.registration,
          .peers = DatagramPeers{.handles = config.handles, .q_key = config.q_key}};
}

}  // namespace

UdQp::UdQp(const UdConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
           queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq)
    : config_(config),
      sends_(SenderConfigOf(config), send_queue, send_cq),
      receive_(config.local_qp, receives, receive_cq) {
  CHECK(config.handles != nullptr);
}

void UdQp::Configure(const UdConfig& config) {
  sends_.Configure(SenderConfigOf(config));
  config_ = config;
}

void UdQp::OnPacket(const wire::Packet& packet, const PacketOrigin& origin, Turn& turn) {
  if (!TakesRequests(state()) || packet.info().service != wire::Service::kUd) return;
  if (Accepts(packet)) Receive(packet, origin, turn);
  DCHECK(IsConsistent());
}

bool UdQp::Accepts(const wire::Packet& packet) {
  const auto deth = packet.Get<wire::Deth>();
  if (deth->q_key != config_.q_key) {
    ++counters_.bad_q_key;
    return false;
  }
  if (!wire::PayloadFits(packet.info(), packet.payload().size(), config_.path_mtu)) {
    ++counters_.bad_length;
    return false;
  }
  return true;
}

void UdQp::Receive(const wire::Packet& packet, const PacketOrigin& origin, Turn& turn) {
  if (!receive_.Take(turn)) {
    ++counters_.no_receive;
    return;
  }
  const size_t size = kGrhSize + packet.payload().size();
  // IBA 9.9.3, class D: a datagram that is longer than the receive request is dropped without a
  // word, and the request serves the next one. Anybody who has the Q_Key can send such a one.
  if (size > receive_.room()) {
    ++counters_.too_long;
    return;
  }

  const Placement placed = Place(packet, origin, turn);
  if (const auto* const fault = std::get_if<memory::Fault>(&placed)) {
    return DropForPages(*fault, turn);
  }
  if (const Cause* const cause = std::get_if<Cause>(&placed)) {
    return FailReceive(VerdictOf(*cause).receive_status, turn, CountRefusal(*cause, turn.refusals));
  }
  queue::Completion completion = ReceiveCompletionOf(packet, static_cast<uint32_t>(size));
  completion.source_qp = queue::QpNumber(packet.Get<wire::Deth>()->source_qp.value());
  completion.flags.has_grh = true;
  completion.sl = NetworkHeaderOf(origin);
  page_wait_.reset();  // it was about the request that ends here
  // IBA 9.9.3: a queue pair whose completions are lost goes on no more.
  if (!receive_.Finish(completion, packet.bth().solicited_event, turn)) BecomeFailed();
}

Placement UdQp::Place(const wire::Packet& packet, const PacketOrigin& origin, Turn& turn) {
  const auto payload = packet.payload();
  const Grh grh = GrhOf(origin, packet.size());
  Placement placed = PlaceOnResidentPages(turn, [&] {
    return receive_.Append(grh, kGrhSize + payload.size(), config_.who, turn.memory);
  });
  if (std::holds_alternative<Placed>(placed)) {
    placed = PlaceOnResidentPages(
        turn, [&] { return receive_.Append(payload, payload.size(), config_.who, turn.memory); });
  }
  return placed;
}

// Nobody sends it again, but the next one shall find the pages. They are asked for once.
void UdQp::DropForPages(const memory::Fault& fault, Turn& turn) {
  ++counters_.pages_absent;
  receive_.Rewind();
  if (page_wait_) return;
  page_wait_ = FaultTicket(kTicketsOfReceiver | ++tickets_);
  turn.outbox.RequestPages({config_.local_qp, *page_wait_, fault});
}

void UdQp::FailReceive(CompletionStatus status, Turn& turn, VendorError vendor_error) {
  page_wait_.reset();
  receive_.Finish(status, turn, vendor_error);
  BecomeFailed();
}

void UdQp::OnPagesReady(FaultTicket ticket, bool available, Turn& turn) {
  sends_.OnPagesReady(ticket, available);
  if (page_wait_ != ticket) return;
  page_wait_.reset();
  // Memory that the receive request names and that cannot be had is not the program's to name.
  if (!available) FailReceive(CompletionStatus::kLocalProtectionError, turn);
}

bool UdQp::Run(Turn& turn) {
  const bool wants_turn = sends_.Run(turn);
  if (FlushesReceives(state())) {
    page_wait_.reset();
    receive_.Flush(turn);
  }
  return wants_turn;
}

}  // namespace verbena::transport
