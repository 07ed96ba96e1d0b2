#include "sim/port.h"

#include "base/check.h"
#include "transport/ud/multicast_groups.h"
#include "wire/roce/bth.h"
#include "wire/roce/packet.h"

namespace verbena::sim {
namespace {

// A requester that is not Verbena does not know the mark. A corrupted packet is not repaired by
// this.
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

ErrorOr<void> Port::Join(const IpAddress& group) {
  CHECK(groups_.insert(*group.ipv4()).second);
  return {};
}

void Port::Leave(const IpAddress& group) { CHECK(groups_.erase(*group.ipv4()) == 1); }

void Port::Arrive(Event arrival) {
  const bool is_for = arrival.group == Ipv4Address() || groups_.contains(arrival.group);
  if (is_for) waiting_.push_back(std::move(arrival));
}

std::optional<uint32_t> Port::NodeWith(uint16_t port) const {
  for (uint32_t node = 0; node < swarm_.endnodes; ++node) {
    if (Network::PortOf(node) == port) return node;
  }
  return std::nullopt;
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
    const auto to = message.route.to.ip.ipv4();
    const bool is_group = transport::IsMulticast({message.route.to.ip.bytes});
    const auto node = NodeWith(message.route.to.port);
    CHECK(to && (node || is_group));
    if (is_dead_ || !node) continue;
    network_.Send(clock_.now, node_, *node, is_group ? *to : Ipv4Address(), segments);
  }
  batch_.Clear();
  return fabric::FlushResult::kDone;
}

std::span<const fabric::ReceivedDatagram> Port::Receive() {
  constexpr size_t kAtOnce = 32;
  taken_.clear();
  datagrams_.clear();
  taken_.reserve(kAtOnce);
  while (!waiting_.empty() && taken_.size() < kAtOnce) {
    Event& event = taken_.emplace_back(std::move(waiting_.front()));
    waiting_.pop_front();
    tap_(event);
    if (swarm_.foreign) HideMark(swarm_, event);
    const auto ip_of = [](Ipv4Address address) {
      return IpAddress{IpAddress::FromIpv4(address).bytes};
    };
    const bool is_single = event.group == Ipv4Address();
    datagrams_.push_back(
        {.from = {ip_of(Network::AddressOf(swarm_, event.from)), Network::PortOf(event.from)},
         .to = ip_of(is_single ? Network::AddressOf(swarm_, node_) : event.group),
         .segment = event.segment,
         .bytes = event.packet});
  }
  return datagrams_;
}

}  // namespace verbena::sim
