#include "transport/ud/ud_qp.h"

#include "base/check.h"
#include "wire/roce/deth.h"

namespace verbena::transport {
namespace {

using queue::CompletionStatus;

// The sender of the same queue pair counts its tickets from below.
constexpr uint64_t kTicketsOfReceiver = uint64_t{1} << 63;

// So that other queue pairs have their turn in between.
constexpr int kKeptAtOnce = 64;

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
  if (!Accepts(packet)) return;
  if (!kept_.empty() || !Serve(packet, origin, turn)) Keep(packet, origin);
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

// False if it waits for pages: then it is served again, as if it came then.
bool UdQp::Serve(const wire::Packet& packet, const PacketOrigin& origin, Turn& turn) {
  if (!receive_.Take(turn)) {
    ++counters_.no_receive;
    return true;
  }
  const size_t size = kGrhSize + packet.payload().size();
  // IBA 9.9.3, class D: a datagram that is longer than the receive request is dropped without a
  // word, and the request serves the next one. Anybody who has the Q_Key can send such a one.
  if (size > receive_.room()) {
    ++counters_.too_long;
    return true;
  }

  const Placement placed = Place(packet, origin, turn);
  if (const auto* const fault = std::get_if<memory::Fault>(&placed)) {
    return WaitForPages(*fault, turn);
  }
  if (const Cause* const cause = std::get_if<Cause>(&placed)) {
    FailReceive(VerdictOf(*cause).receive_status, turn, CountRefusal(*cause, turn.refusals));
    return true;
  }
  queue::Completion completion = ReceiveCompletionOf(packet, static_cast<uint32_t>(size));
  completion.source_qp = queue::QpNumber(packet.Get<wire::Deth>()->source_qp.value());
  completion.flags.has_grh = true;
  completion.sl = NetworkHeaderOf(origin);
  // IBA 9.9.3: a queue pair whose completions are lost goes on no more.
  if (!receive_.Finish(completion, packet.bth().solicited_event, turn)) BecomeFailed();
  return true;
}

Placement UdQp::Place(const wire::Packet& packet, const PacketOrigin& origin, Turn& turn) {
  const auto payload = packet.payload();
  const Grh grh = GrhOf(origin, packet.size());
  Placement placed = receive_.Append(grh, kGrhSize + payload.size(), config_.who, turn.memory);
  if (std::holds_alternative<Placed>(placed)) {
    placed = receive_.Append(payload, payload.size(), config_.who, turn.memory);
  }
  return placed;
}

// True if the receive request has failed, and nothing waits.
bool UdQp::WaitForPages(const memory::Fault& fault, Turn& turn) {
  receive_.Rewind();
  if (fault.is_loss && losses_++ == kLossesMax) {
    FailReceive(CompletionStatus::kLocalProtectionError, turn);
    return true;
  }
  page_wait_ = FaultTicket(kTicketsOfReceiver | ++tickets_);
  turn.outbox.RequestPages(
      {.qp = config_.local_qp, .ticket = *page_wait_, .fault = fault, .is_urgent = true});
  return false;
}

// Apart, so that a datagram that is served pays nothing for it.
[[gnu::noinline]] void UdQp::Keep(const wire::Packet& packet, const PacketOrigin& origin) {
  if (!kept_.Keep(packet, origin)) ++counters_.pages_absent;
}

[[gnu::noinline]] bool UdQp::ServeKept(Turn& turn) {
  for (int i = 0; i < kKeptAtOnce && TakesRequests(state()) && !kept_.empty(); ++i) {
    if (page_wait_ || !Serve(kept_.oldest(), kept_.oldest_origin(), turn)) break;
    if (kept_.empty()) break;  // a receive that has failed has dropped them all
    kept_.DropOldest();
    losses_ = 0;
  }
  DCHECK(IsConsistent());
  return !kept_.empty() && !page_wait_;
}

void UdQp::Forget() {
  page_wait_.reset();
  kept_.Clear();
  losses_ = 0;
}

void UdQp::FailReceive(CompletionStatus status, Turn& turn, VendorError vendor_error) {
  Forget();
  receive_.Finish(status, turn, vendor_error);
  BecomeFailed();
}

void UdQp::OnPagesReady(FaultTicket ticket, bool available, Turn& turn) {
  sends_.OnPagesReady(ticket, available);
  if (page_wait_ != ticket) return;
  page_wait_.reset();
  if (available) return;  // what waited is served by Run
  // Memory that the receive request names and that cannot be had is not the program's to name.
  FailReceive(CompletionStatus::kLocalProtectionError, turn);
  DCHECK(IsConsistent());
}

bool UdQp::Run(Turn& turn) {
  const bool receives_more = !kept_.empty() && ServeKept(turn);
  const bool sends_more = sends_.Run(turn);
  if (FlushesReceives(state())) {
    Forget();
    receive_.Flush(turn);
  }
  return receives_more || sends_more;
}

bool UdQp::IsConsistent() const {
  return sends_.IsConsistent() && receive_.IsConsistent() && kept_.IsConsistent() &&
         (!page_wait_ || receive_.is_taken());
}

}  // namespace verbena::transport
