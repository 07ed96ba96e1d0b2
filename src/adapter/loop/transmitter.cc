#include "adapter/loop/transmitter.h"

#include "base/check.h"
#include "transport/common/packet_bytes.h"
#include "wire/mad/mad_header.h"
#include "wire/roce/bth.h"
#include "wire/roce/deth.h"
#include "wire/roce/icrc.h"
#include "wire/roce/packet.h"

namespace verbena::adapter {
namespace {

wire::UdpFlow FlowOn(const fabric::Route& route, uint16_t source_port) {
  return {.source = route.from,
          .destination = route.to.ip,
          .source_port = source_port,
          .destination_port = route.to.port};
}

// Some networks lose segments below this size but deliver larger ones: a Linux guest takes no
// smaller segments from its host (docs/fabric.md).
constexpr size_t kSafeSegment = 512;

// A packet without an acknowledgement, which its sender never retransmits.
bool IsUnanswered(const transport::OutPacket& packet) {
  const wire::OpcodeInfo& info = *wire::FindOpcode(wire::Bth::Parse(packet.header)->opcode);
  return info.service == wire::Service::kUc || info.service == wire::Service::kUd ||
         info.operation == wire::Operation::kAcknowledge;
}

transport::SegmentPath EndsOf(const Path& path, size_t bytes) {
  return {path.vector.source, path.vector.destination, bytes};
}

}  // namespace

std::optional<memory::MachineAddress> Transmitter::Stage(const transport::OutPacket& packet) {
  const Path* const path = paths_.Find(packet.path);
  if (path == nullptr) {  // the address handle was destroyed after the post
    ++counters_.paths_gone;
    return std::nullopt;
  }
  const QpNumber to = wire::Bth::Parse(packet.header)->dest_qp;
  fabric::Route route = path->RouteTo(to, ports_);
  if (path->is_remote()) route.from_is_usual = default_sources_.IsUsual(route.from, route.to.ip);
  route.single = packet.single || IsSingle(*path, packet);
  fabric::Fabric& by = endpoints_.Of(packet.source_qp);
  if (const auto gone = StageOn(by, route, EndsHere(*path, to), packet)) [[unlikely]] {
    return gone;
  }
  if (to == wire::kMulticastQp) StageCopies(by, route, packet);
  return std::nullopt;
}

void Transmitter::StageMad(const transport::CmDatagram& datagram, QpNumber number, Psn psn) {
  const auto mad = datagram.mad.ToBytes();
  const wire::OpcodeInfo& send = *wire::FindOpcode(wire::Service::kUd, wire::Operation::kSend,
                                                   wire::Position::kOnly, wire::Companion::kNone);
  const wire::Bth bth{.dest_qp = wire::kGeneralServicesQp, .psn = psn};
  transport::OutPacket packet;
  wire::PacketBuilder builder(packet.header, send, bth, mad.size());
  builder.Add(wire::Deth{.q_key = wire::kGeneralServicesQKey, .source_qp = number});
  packet.header_size = builder.headers().size();
  packet.payload_size = static_cast<uint32_t>(mad.size());
  packet.inlined = mad;
  packet.source_qp = number;
  const transport::CmPeer& to = datagram.to;
  fabric::Route route{.from = to.local, .to = {.ip = to.address, .port = ports_.PortOf(to.gsi)}};
  route.interface = to.address.is_link_local() ? InterfaceOf(to.local) : 0;
  route.single = true;
  const bool ends_here =
      endpoints_.Has(EndpointOf(to.gsi)) && (to.local == to.address || addresses_.Has(to.address));
  // A management datagram has no payload in memory that could be missing.
  CHECK(!StageOn(endpoints_.Of(number), route, ends_here, packet));
}

// The interface that has the address; 0 if there is none.
uint32_t Transmitter::InterfaceOf(const IpAddress& address) const {
  const auto all = addresses_.All();
  if (!all) return 0;
  for (const fabric::LocalAddress& local : *all) {
    if (local.ip == address) return local.interface_index;
  }
  return 0;
}

bool Transmitter::IsSingle(const Path& path, const transport::OutPacket& packet) const {
  // A network that loses segments would lose the acknowledgements of many queue pairs together,
  // repeatedly.
  const bool is_at_risk = !path.ends_here && WireSizeOf(packet) < kSafeSegment;
  if (is_at_risk && IsUnanswered(packet)) return true;
  return segment_losses_.has_singles() &&
         segment_losses_.SendsSingly(EndsOf(path, packet.header_size + packet.payload_size));
}

std::optional<std::string> Transmitter::OnSegments(const transport::SegmentReport& report,
                                                   Time now) {
  const Path* const path = paths_.Find(report.path);
  if (path == nullptr || !endpoints_.first().segments()) return std::nullopt;
  const transport::SegmentPath ends = EndsOf(*path, report.bytes);
  if (report.fate == transport::SegmentReport::Fate::kArrived) {
    segment_losses_.OnArrived(ends, report.packets);
    return std::nullopt;
  }
  if (!segment_losses_.OnLost(ends, report.packets, now)) return std::nullopt;
  ++counters_.paths_single;
  return "the network from " + ToString(ends.from) + " to " + ToString(ends.to) +
         " loses datagrams that the system cuts from one message (UDP segmentation offload); they "
         "leave one by one from now on, which is slower. Where an interface on the way drops them, "
         "`ethtool -K INTERFACE tx-udp-segmentation off` cures it";
}

void Transmitter::StageCopies(fabric::Fabric& by, fabric::Route route,
                              const transport::OutPacket& packet) {
  for (uint16_t number = 1; number < ports_.multicast_endpoints; ++number) {
    route.to.port = ports_.ports.PortOf(fabric::EndpointId(number));
    // The remaining packets of the outbox must find room.
    const auto has_room = [&] { return by.room(kDatagramMax) >= outbox_packets_; };
    if (!has_room()) static_cast<void>(Flush());
    if (!has_room()) return;  // the copy counts as lost on the way
    if (StageOn(by, route, false, packet)) return;
  }
}

std::optional<memory::MachineAddress> Transmitter::StageOn(fabric::Fabric& by,
                                                           const fabric::Route& route,
                                                           bool is_local,
                                                           const transport::OutPacket& packet) {
  const size_t size = WireSizeOf(packet);
  const auto place = is_local ? loopback_.Reserve(route, by.port(), size) : by.Reserve(route, size);
  CHECK(place.has_value());
  if (const auto gone = WritePacket(packet, place->bytes)) [[unlikely]] {
    is_local ? loopback_.CancelLast() : by.CancelLast();
    ++counters_.copies_failed;
    return gone;
  }
  if (is_local) ++counters_.loopback_packets;
  // Loopback packets need no ICRC, except that a trace shows what a peer would see.
  if (!is_local || trace_ != nullptr) SealPacket(FlowOn(route, by.port()), *place);
  if (trace_ != nullptr) {
    trace_->OnSent(FlowOn(route, by.port()),
                   {.identification = place->ip_id,
                    .traffic_class = route.traffic_class,
                    .hop_limit = route.hop_limit != 0 ? route.hop_limit : kUsualHopLimit},
                   place->bytes);
  }
  ++counters_.packets_sent;
  counters_.bytes_sent += size;
  return std::nullopt;
}

void Transmitter::SealPacket(const wire::UdpFlow& flow, const fabric::Reservation& place) {
  const auto covered = place.bytes.first(place.bytes.size() - wire::kIcrcSize);
  wire::IcrcSum sum(flows_.Find(flow, place.bytes.size(), place.ip_id).header,
                    std::span<const std::byte>(covered).first<wire::Bth::kSize>());
  sum.Update(covered.subspan(wire::Bth::kSize));
  wire::StoreIcrc(sum.Finish(), place.bytes.last(wire::kIcrcSize));
}

}  // namespace verbena::adapter
