#include "sim/network.h"

#include "base/check.h"
#include "wire/roce/icrc.h"
#include "wire/roce/packet.h"

namespace verbena::sim {
namespace {

uint64_t Mix(uint64_t digest, uint64_t value) {
  return (digest ^ value) * 0x9E3779B97F4A7C15u + (digest >> 29);
}

uint64_t Digest(uint64_t digest, std::span<const std::byte> packet) {
  for (size_t i = 0; i < packet.size(); i += 7) {
    digest = Mix(digest, std::to_integer<uint64_t>(packet[i]));
  }
  return digest;
}

wire::UdpFlow FlowOf(const Swarm& swarm, const Event& event) {
  const bool is_single = event.group == Ipv4Address();
  const Ipv4Address to = is_single ? Network::AddressOf(swarm, event.to) : event.group;
  return {.source = IpAddress::FromIpv4(Network::AddressOf(swarm, event.from)),
          .destination = IpAddress::FromIpv4(to),
          .source_port = Network::PortOf(event.from),
          .destination_port = Network::PortOf(event.to)};
}

// Whether the ICRC is right for some IPv4 identification, which the receiver's socket does not
// report: one corrupted packet in 65,536.
bool LooksRight(const Swarm& swarm, const Event& event) {
  const auto packet = wire::Packet::Parse(event.packet);
  if (!packet) return false;
  const size_t size = event.packet.size();
  const auto headers = FlowOf(swarm, event).HeadersFor(size);
  const wire::Icrc with_zero = wire::IcrcOf(headers.bytes(), packet->covered());
  return wire::ExplainIdentification(packet->icrc(), with_zero, size).has_value();
}

}  // namespace

void Network::Seal(const Swarm& swarm, Event& event) {
  if (!wire::Packet::Parse(event.packet)) return;
  const auto headers =
      FlowOf(swarm, event).HeadersFor(event.packet.size(), {.identification = event.segment});
  wire::Seal(headers.bytes(), event.packet);
}

void Network::Send(Time now, uint32_t from, uint32_t to, Ipv4Address group,
                   std::span<const std::span<const std::byte>> segments) {
  for (const std::span<const std::byte> packet : segments) {
    counters_.digest = Digest(counters_.digest, packet);
    ++counters_.packets;
    if (tap_) tap_(from, to, packet);
  }
  if (swarm_.segments_max > 0 && segments.size() > swarm_.segments_max) {
    counters_.segments_lost += segments.size();
    return;
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    SendOne(now, {.to = to,
                  .from = from,
                  .packet = {segments[i].begin(), segments[i].end()},
                  .segment = static_cast<uint8_t>(i),
                  .group = group});
  }
}

void Network::SendOne(Time now, const Event& event) {
  Capture(now, event);
  const auto cut = cuts_.find({event.from, event.to});
  if (cut != cuts_.end() && now < cut->second) return;
  const auto bth = wire::Bth::Parse(event.packet);
  CHECK(bth.has_value());
  if (severed_.contains(bth->dest_qp.value())) return;
  const int copies = random_.Chance(swarm_.duplication, 1000) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    if (random_.Chance(swarm_.loss, 1000)) continue;
    Event arrival = event;
    if (random_.Chance(swarm_.corruption, 1000)) Corrupt(arrival);
    const auto jitter = static_cast<uint64_t>(swarm_.jitter.nanoseconds());
    const auto late = Nanoseconds(static_cast<int64_t>(random_.Below(jitter + 1)));
    Add(now + swarm_.delay + late, std::move(arrival));
  }
}

// Changes a byte that routers may not change, so that the ICRC covers it. The few packets whose
// ICRC is right nevertheless would fail the UDP checksum: they do not arrive.
void Network::Corrupt(Event& arrival) {
  arrival.is_corrupted = true;
  const size_t at = 5 + random_.Below(arrival.packet.size() - 5);
  do {
    arrival.packet[at] ^= static_cast<std::byte>(1 + random_.Below(255));
  } while (LooksRight(swarm_, arrival));
}

void Network::Heal() {
  cuts_.clear();
  swarm_.loss = swarm_.duplication = swarm_.corruption = 0;
  swarm_.jitter = Duration();
}

void Network::ForgetJobs(uint32_t node) {
  std::erase_if(events_,
                [&](const auto& at) { return at.second.job.has_value() && at.second.to == node; });
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

void Network::Capture(Time now, const Event& event) {
  if (capture_ != nullptr) capture_->WriteUdp(now, FlowOf(swarm_, event), event.packet);
}

}  // namespace verbena::sim
