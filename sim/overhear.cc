// What the oracles, and an eavesdropper, learn from packets: the taps of simulator.h.

#include "adapter/objects/peer_check.h"
#include "sim/simulator.h"
#include "transport/common/responder_checks.h"
#include "transport/rc/response_marks.h"
#include "wire/roce/aeth.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"

namespace verbena::sim {

void Simulator::OnSent(uint32_t from, uint32_t to, std::span<const std::byte> bytes) {
  const auto packet = wire::Packet::Parse(bytes);
  CHECK(packet.has_value());
  // An unreliable packet may go to the number of a reliable queue pair that has crashed.
  if (packet->info().service != wire::Service::kRc) return;
  ForEachSide([&](Connection& connection, int at) {
    Side& side = connection.side(at);
    const Side& peer = connection.side(1 - at);
    const bool is_of = side.node->number == from && peer.node->number == to &&
                       peer.number == packet->bth().dest_qp && side.qp;
    if (!is_of) return;
    Overhear(side, *packet);
    seen_to_ = to;
    seen_from_ = from;
    seen_.assign(bytes.begin(), bytes.end());
  });
}

void Simulator::OnArrived(const Event& arrival) {
  const auto packet = wire::Packet::Parse(arrival.packet);
  if (packet && arrival.group != Ipv4Address()) unreliable_.OnGroupDatagram(arrival, *packet);
  if (!packet || packet->info().service != wire::Service::kRc) return;
  ForEachSide([&](Connection& connection, int at) {
    Side& side = connection.side(at);
    const bool is_for = side.number == packet->bth().dest_qp && side.qp;
    if (!is_for || !IsOf(side, connection.side(1 - at), arrival)) return;
    if (packet->info().is_response) OverhearAnswer(side, *packet);
    if (packet->info().operation == wire::Operation::kReadRequest && !arrival.is_forged) {
      const wire::Reth reth = *packet->Get<wire::Reth>();
      side.node->access.Asked(side.number, packet->bth().psn,
                              transport::PsnCountOf(reth.dma_length, swarm_.path_mtu), reth);
    }
  });
}

// Whether a packet is from the peer's endpoint, and not from that of a dead process.
bool Simulator::IsOf(const Side& side, const Side& peer, const Event& arrival) const {
  const auto expected = Network::OriginOf(swarm_, peer.node->number, side.node->number);
  const adapter::PeerAddress identity{expected.source, expected.destination,
                                      adapter::PortMap{}.SourcePortOf(peer.number)};
  const auto origin = Network::OriginOf(swarm_, arrival.from, arrival.to);
  return !adapter::CheckPeer(identity, origin);
}

// Learns from a packet that a side sends.
void Simulator::Overhear(Side& side, const wire::Packet& packet) {
  const Psn psn = packet.bth().psn;
  if (packet.info().operation == wire::Operation::kReadResponse) {
    side.node->access.Answers(side.number, psn, swarm_.path_mtu, packet.payload().size(),
                              findings_);
  }
  if (!packet.info().is_request) return;
  const bool is_read = packet.info().operation == wire::Operation::kReadRequest;
  const uint32_t count =
      is_read ? transport::PsnCountOf(packet.Get<wire::Reth>()->dma_length, swarm_.path_mtu) : 1;
  side.retries.Sent(psn, count);
  if (!side.next_psn || IsBefore(*side.next_psn, psn + count)) side.next_psn = psn + count;
}

// Learns from a response that reaches a side.
void Simulator::OverhearAnswer(Side& side, const wire::Packet& packet) {
  const Psn psn = packet.bth().psn;
  const auto aeth = packet.Get<wire::Aeth>();
  if (!aeth || aeth->syndrome.is_ack()) return side.retries.Acknowledged(psn);
  if (aeth->syndrome.kind() != wire::Syndrome::Kind::kRnrNak) return;
  const bool is_fault = transport::IsMarkedFault(packet.bth());
  side.was_faulting |= is_fault;
  side.was_not_ready |= !is_fault;
  side.retries.NotReady(psn);
  if (is_fault && !swarm_.foreign) return;  // it uses no retry
  side.faults.NotReady(psn);
  side.faults.CheckRetries(false, findings_);
}

}  // namespace verbena::sim
