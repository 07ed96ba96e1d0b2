#include "transport/ud/ud_qp.h"

#include "base/check.h"
#include "wire/roce/deth.h"

namespace verbena::transport {
namespace {

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

void UdQp::OnPacket(const wire::Packet& packet, const PacketOrigin& origin, Step& step) {
  if (!TakesRequests(state()) || packet.info().service != wire::Service::kUd) return;
  if (!Accepts(packet)) return;
  if (!held_.empty() || !Serve(packet, origin, step)) Hold(packet, origin);
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

// False if the datagram waits for pages. It is served again then, as if it arrived at that time.
bool UdQp::Serve(const wire::Packet& packet, const PacketOrigin& origin, Step& step) {
  if (!receive_.Take(step)) {
    ++counters_.no_receive;
    return true;
  }
  const size_t size = kGrhSize + packet.payload().size();
  // IBA 9.9.3, class D: a datagram that is longer than the receive request is dropped silently, and
  // the request serves the next one. Any sender that has the Q_Key can send such a datagram.
  if (size > receive_.room()) {
    ++counters_.too_long;
    return true;
  }

  const Placement placed = Place(packet, origin, step);
  if (const auto* const fault = std::get_if<memory::Fault>(&placed)) {
    return WaitForPages(*fault, step);
  }
  if (const NakReason* const reason = std::get_if<NakReason>(&placed)) {
    FailReceive(VerdictOf(*reason).receive_status, step, CountRefusal(*reason, step.refusals));
    return true;
  }
  Completion completion = ReceiveCompletionOf(packet, static_cast<uint32_t>(size));
  completion.source_qp = packet.Get<wire::Deth>()->source_qp;
  completion.has_grh = true;
  completion.sl = NetworkHeaderOf(origin);
  // IBA 11.6.3.1: a completion that finds no room is lost, and the queue pair goes into error.
  if (!receive_.Finish(completion, packet.bth().solicited_event, step)) {
    step.outbox.Raise({AsyncEventType::kQpFatal, config_.local_qp});
    BecomeFailed();
  }
  return true;
}

Placement UdQp::Place(const wire::Packet& packet, const PacketOrigin& origin, Step& step) {
  const auto payload = packet.payload();
  const GrhBytes grh = GrhOf(origin, packet.size());
  Placement placed = receive_.Append(grh, kGrhSize + payload.size(), config_.who, step.memory);
  if (std::holds_alternative<Placed>(placed)) {
    placed = receive_.Append(payload, payload.size(), config_.who, step.memory);
  }
  return placed;
}

// True if the receive request has failed, and there is no wait.
bool UdQp::WaitForPages(const memory::Fault& fault, Step& step) {
  receive_.Rewind();
  if (fault.is_loss && losses_++ == kLossesMax) {
    FailReceive(CompletionStatus::kLocalProtectionError, step);
    return true;
  }
  page_wait_ = FaultTicket(kReceiverTickets | ++tickets_);
  step.outbox.RequestPages(
      {.qp = config_.local_qp, .ticket = *page_wait_, .fault = fault, .is_urgent = true});
  return false;
}

// Not inlined, so that a datagram that is served pays nothing for it.
[[gnu::noinline]] void UdQp::Hold(const wire::Packet& packet, const PacketOrigin& origin) {
  if (!held_.Hold(packet, origin)) ++counters_.pages_absent;
}

[[gnu::noinline]] bool UdQp::ServeHeld(Step& step) {
  for (int i = 0; i < HeldPackets::kAtOnce && TakesRequests(state()) && !held_.empty(); ++i) {
    if (page_wait_ || !Serve(held_.oldest(), held_.oldest_origin(), step)) break;
    if (held_.empty()) break;  // a failed receive request has dropped them all
    held_.DropOldest();
    losses_ = 0;
  }
  DCHECK(IsConsistent());
  return !held_.empty() && !page_wait_;
}

void UdQp::Forget() {
  page_wait_.reset();
  held_.Clear();
  losses_ = 0;
}

void UdQp::FailReceive(CompletionStatus status, Step& step, VendorError vendor_error) {
  Forget();
  receive_.Finish(status, step, vendor_error);
  BecomeFailed();
}

void UdQp::OnPagesReady(FaultTicket ticket, bool available, Step& step) {
  sends_.OnPagesReady(ticket, available);
  if (page_wait_ != ticket) return;
  page_wait_.reset();
  if (available) return;  // Run serves the held datagrams
  // A receive request that names memory which cannot be paged in is an error of the program.
  FailReceive(CompletionStatus::kLocalProtectionError, step);
  DCHECK(IsConsistent());
}

bool UdQp::Run(Step& step) {
  const bool receives_more = !held_.empty() && ServeHeld(step);
  const bool sends_more = sends_.Run(step);
  if (FlushesReceives(state())) {
    Forget();
    receive_.Flush(step);
  }
  return receives_more || sends_more;
}

bool UdQp::IsConsistent() const {
  return sends_.IsConsistent() && receive_.IsConsistent() && held_.IsConsistent() &&
         (!page_wait_ || receive_.is_taken());
}

}  // namespace verbena::transport
