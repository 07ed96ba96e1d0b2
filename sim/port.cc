#include "sim/port.h"

#include "base/check.h"
#include "wire/roce/bth.h"
#include "wire/roce/packet.h"

namespace verbena::sim {
namespace {

// A foreign requester does not know what the bit means in a response. What was corrupted on its way
// is not made right by it.
void HideMark(const Swarm& swarm, Event& event) {
  if (event.is_corrupted) return;
  const auto packet = wire::Packet::Parse(event.packet);
  if (!packet || !packet->info().is_response || !packet->bth().ack_request) return;
  wire::Bth bth = packet->bth();
  bth.ack_request = false;
  bth.Serialize(event.packet);
  Network::Seal(swarm, event);
}

}  // namespace

Port::Port(const Swarm& swarm, uint32_t node, const VirtualClock& clock, Network& network, Tap tap)
    : Fabric(fabric::EndpointId(static_cast<uint16_t>(node)), Network::PortOf(node), batch_),
      swarm_(swarm),
      node_(node),
      clock_(clock),
      network_(network),
      tap_(std::move(tap)),
      batch_({}, /*segmentation=*/true) {}

uint32_t Port::NodeWith(uint16_t port) const {
  for (uint32_t node = 0; node < swarm_.endnodes; ++node) {
    if (Network::PortOf(node) == port) return node;
  }
  UNREACHABLE();
}

fabric::FlushResult Port::Send() {
  std::vector<std::span<const std::byte>> segments;
  for (const fabric::MessageBatch::Message& message : batch_.messages()) {
    segments.clear();
    for (std::span<const std::byte> rest = message.bytes; !rest.empty();) {
      const size_t size = std::min(message.segment_size, rest.size());
      segments.push_back(rest.first(size));
      rest = rest.subspan(size);
    }
    CHECK(segments.size() == message.segments);
    if (!is_dead_) network_.Send(clock_.now, node_, NodeWith(message.route.to.port), segments);
  }
  batch_.Clear();
  return fabric::FlushResult::kDone;
}

std::span<const fabric::Datagram> Port::Receive() {
  constexpr size_t kAtOnce = 32;
  taken_.clear();
  datagrams_.clear();
  taken_.reserve(kAtOnce);
  while (!waiting_.empty() && taken_.size() < kAtOnce) {
    Event& event = taken_.emplace_back(std::move(waiting_.front()));
    waiting_.pop_front();
    tap_(event);
    if (swarm_.foreign) HideMark(swarm_, event);
    const auto ip_of = [&](uint32_t node) {
      return fabric::IpAddress{wire::IpAddress::FromIpv4(Network::AddressOf(swarm_, node)).bytes};
    };
    datagrams_.push_back({.from = {ip_of(event.from), Network::PortOf(event.from)},
                          .to = ip_of(node_),
                          .segment = event.segment,
                          .bytes = event.packet});
  }
  return datagrams_;
}

}  // namespace verbena::sim
