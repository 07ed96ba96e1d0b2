#pragma once

#include <cstdint>
#include <optional>

#include "adapter/loop/flow_cache.h"
#include "fabric/datagram.h"
#include "wire/roce/icrc.h"
#include "wire/roce/packet.h"
#include "wire/udp_flow.h"

namespace verbena::adapter {

// The flow of a datagram that arrived at `port`.
[[nodiscard]] inline wire::UdpFlow FlowOf(const fabric::ReceivedDatagram& datagram, uint16_t port) {
  return {.source = datagram.from.ip,
          .destination = datagram.to,
          .source_port = datagram.from.port,
          .destination_port = port};
}

// The IPv4 identification for which the ICRC of the datagram is right: the socket does not report
// it. 0 for IPv6. nullopt if the ICRC is not right for any identification that the sender uses.
[[nodiscard]] inline std::optional<uint16_t> FindIdentification(
    FlowCache& flows, const wire::UdpFlow& flow, const fabric::ReceivedDatagram& datagram,
    const wire::Packet& packet) {
  const bool is_ipv4 = datagram.to.is_ipv4();
  const uint16_t guess = is_ipv4 ? datagram.segment : 0;
  const auto covered = packet.covered();
  FlowCache::Entry& entry = flows.Find(flow, packet.size(), guess);
  wire::IcrcSum sum(entry.header, covered.first<wire::Bth::kSize>());
  sum.Update(covered.subspan(wire::Bth::kSize));
  if (sum.Finish() == packet.icrc()) {
    static_cast<void>(entry.identifications.Believes(guess));
    return guess;
  }
  if (!is_ipv4) return std::nullopt;
  const wire::Icrc with_zero(sum.Finish().value() ^
                             wire::IdentificationDelta(guess, packet.size()).value());
  const auto explained = wire::ExplainIdentification(packet.icrc(), with_zero, packet.size());
  if (!explained || !entry.identifications.Believes(*explained)) return std::nullopt;
  return explained;
}

}  // namespace verbena::adapter
