#include "adapter/loop/dispatcher.h"

#include <algorithm>
#include <optional>
#include <string>

#include "adapter/loop/identification.h"
#include "base/when_memory.h"
#include "transport/common/packet_origin.h"
#include "wire/mad/mad_header.h"
#include "wire/roce/deth.h"
#include "wire/roce/packet.h"

namespace verbena::adapter {
namespace {

// The socket does not report the hop limit of a datagram.
constexpr uint8_t kHopLimitUnknown = 64;

transport::PacketOrigin OriginOf(const fabric::ReceivedDatagram& datagram) {
  return {.source = datagram.from.ip,
          .destination = datagram.to,
          .source_port = datagram.from.port,
          .traffic_class = datagram.traffic_class,
          .hop_limit = kHopLimitUnknown};
}

std::string WarningOf(const QueuePair& qp, const fabric::ReceivedDatagram& datagram) {
  return "a packet from " + ToString(datagram.from) + " for queue pair " +
         std::to_string(qp.number().value()) +
         " was dropped: its UDP source port is not that of the sender's endpoint. It is late, from "
         "before a process ended, or forged. If the peer is not Verbena, use strict mode here "
         "(verbena run --strict). Others like it are counted as \"" +
         NameOf(Drop::kWrongPort) + "\" only";
}

}  // namespace

void Dispatcher::Dispatch(fabric::ReceivedDatagram datagram, uint16_t port, transport::Step& step) {
  const bool is_sealed = port != kUnsealed;
  ++counters_.packets_received;
  counters_.bytes_received += datagram.bytes.size();
  // Loopback packets were traced when they were sent.
  if (trace_ != nullptr && is_sealed) trace_->OnReceived(datagram, port);
  const std::optional<wire::Packet> packet = wire::Packet::Parse(datagram.bytes);
  if (!packet) return Count(Drop::kMalformed);
  const QpNumber to = packet->bth().dest_qp;
  if (to == wire::kGeneralServicesQp) return DeliverMad(datagram, port, *packet, step);
  const bool is_multicast = to == wire::kMulticastQp;
  QueuePair* const qp = is_multicast ? nullptr : qps_.Find(to);
  if (qp == nullptr && !is_multicast) return Count(Drop::kNoSuchQp);
  // If the socket did not report the destination, the ICRC shows to which address it was sent.
  if (datagram.to.is_unspecified()) {
    if (qp == nullptr || !qp->has_path()) return Count(Drop::kWrongPeer);
    datagram.to = qp->path().source;
  }
  if (is_sealed && !IcrcIsRight(datagram, port, *packet)) return Count(Drop::kBadIcrc);
  is_multicast ? Multicast(datagram, *packet, step) : Deliver(*qp, datagram, *packet, step);
}

void Dispatcher::DeliverMad(fabric::ReceivedDatagram datagram, uint16_t port,
                            const wire::Packet& packet, transport::Step& step) {
  if (gsi_ == nullptr) return Count(Drop::kNoSuchQp);
  const bool is_send = packet.info().service == wire::Service::kUd &&
                       packet.info().operation == wire::Operation::kSend;
  if (!is_send || packet.payload().size() != wire::kMadSize) return Count(Drop::kMalformed);
  const auto deth = packet.Get<wire::Deth>();
  if (deth->q_key != wire::kGeneralServicesQKey) return Count(Drop::kMalformed);
  if (!gsi_->IsSentFrom(deth->source_qp, datagram.from.port)) return Count(Drop::kWrongPort);
  if (port != kUnsealed && !FindDestination(datagram, port, packet, step.now)) {
    return Count(Drop::kBadIcrc);
  }
  // Without memory the datagram is lost, and the peer retransmits it.
  static_cast<void>(WhenMemory([&] {
    gsi_->OnMad(packet.payload().first<wire::kMadSize>(),
                {datagram.from.ip, datagram.to, deth->source_qp}, step.now);
  }));
}

bool Dispatcher::FindDestination(fabric::ReceivedDatagram& datagram, uint16_t port,
                                 const wire::Packet& packet, Time now) {
  if (!datagram.to.is_unspecified()) return IcrcIsRight(datagram, port, packet);
  const auto is_among_known = [&] {
    return std::ranges::any_of(local_addresses_, [&](const IpAddress& address) {
      datagram.to = address;
      return address.is_ipv4() == datagram.from.ip.is_ipv4() && IcrcIsRight(datagram, port, packet);
    });
  };
  if (is_among_known()) return true;
  // The addresses may have changed. A limit, so that a flood does not cause a system call per
  // datagram.
  constexpr Duration kLookAgain = Milliseconds(100);
  if (now < next_look_at_addresses_) return false;
  next_look_at_addresses_ = now + kLookAgain;
  if (!WhenMemory([&] {
        local_addresses_.clear();
        const auto all = addresses_->All();
        if (!all) return;
        for (const fabric::LocalAddress& address : *all) local_addresses_.push_back(address.ip);
      })) {
    return false;
  }
  return is_among_known();
}

void Dispatcher::Multicast(const fabric::ReceivedDatagram& datagram, const wire::Packet& packet,
                           transport::Step& step) {
  const auto members = groups_.MembersOf(datagram.to);
  if (members.empty()) return Count(Drop::kNoMember);
  for (const QpNumber member : members) {
    if (QueuePair* const qp = qps_.Find(member)) Deliver(*qp, datagram, packet, step);
  }
}

void Dispatcher::Deliver(QueuePair& qp, const fabric::ReceivedDatagram& datagram,
                         const wire::Packet& packet, transport::Step& step) {
  const transport::PacketOrigin origin = OriginOf(datagram);
  if (const auto drop = qp.Refuses(packet, origin)) return Refuse(*drop, qp, datagram);
  ++qp.traffic.packets_received;
  qp.traffic.bytes_received += datagram.bytes.size();
  qp.OnPacket(packet, origin, step);
  run_queue_.Push(qp);
}

void Dispatcher::Refuse(Drop drop, const QueuePair& qp, const fabric::ReceivedDatagram& datagram) {
  Count(drop);
  const bool is_first = drop == Drop::kWrongPort && counters_.dropped_for(drop) == 1;
  if (!is_first || !on_warning_) return;
  // Without memory for the text there is no warning; the counter still counts the packet.
  static_cast<void>(WhenMemory([&] { on_warning_(WarningOf(qp, datagram)); }));
}

bool Dispatcher::IcrcIsRight(const fabric::ReceivedDatagram& datagram, uint16_t port,
                             const wire::Packet& packet) {
  return FindIdentification(flows_, FlowOf(datagram, port), datagram, packet).has_value();
}

}  // namespace verbena::adapter
