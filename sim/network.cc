#include "sim/network.h"

#include "wire/roce/icrc.h"
#include "wire/roce/packet.h"

namespace verbena::sim {

void Network::Send(Time now, uint32_t from, uint32_t to, wire::QpNumber qp,
                   std::span<const std::byte> packet) {
  Capture(now, from, to, packet);
  const auto cut = cuts_.find({from, to});
  if (cut != cuts_.end() && now < cut->second) return;
  if (severed_.contains(qp.value())) return;
  const int copies = random_.Chance(swarm_.duplication, 1000) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    // The ICRC finds what was corrupted, and then it is as good as lost.
    if (random_.Chance(swarm_.loss, 1000) || random_.Chance(swarm_.corruption, 1000)) continue;
    const auto jitter = static_cast<uint64_t>(swarm_.jitter.nanoseconds());
    const auto late = Nanoseconds(static_cast<int64_t>(random_.Below(jitter + 1)));
    Add(now + swarm_.delay + late,
        {.qp = qp, .from = from, .packet = {packet.begin(), packet.end()}, .request = {}});
  }
}

void Network::Heal() {
  cuts_.clear();
  swarm_.loss = swarm_.duplication = swarm_.corruption = 0;
  swarm_.jitter = Duration();
}

void Network::ForgetRequests(wire::QpNumber qp) {
  std::erase_if(
      events_, [&](const auto& at) { return at.second.request.has_value() && at.second.qp == qp; });
}

void Network::Add(Time at, Event event) {
  events_.emplace(std::pair(at, ++sequence_), std::move(event));
}

std::optional<Event> Network::Take(Time now) {
  if (now < next_time()) return std::nullopt;
  Event event = std::move(events_.begin()->second);
  events_.erase(events_.begin());
  return event;
}

void Network::Capture(Time now, uint32_t from, uint32_t to, std::span<const std::byte> packet) {
  if (capture_ == nullptr) return;
  const wire::UdpFlow flow{.source = wire::IpAddress::FromIpv4(AddressOf(swarm_, from)),
                           .destination = wire::IpAddress::FromIpv4(AddressOf(swarm_, to)),
                           .source_port = PortOf(from),
                           .destination_port = PortOf(to)};
  std::vector<std::byte> sealed(packet.begin(), packet.end());
  if (wire::Packet::Parse(sealed)) wire::Seal(flow.HeadersFor(sealed.size()).bytes(), sealed);
  capture_->WriteUdp(now, flow, sealed);
}

}  // namespace verbena::sim
