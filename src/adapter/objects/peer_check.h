#pragma once

#include <cstdint>
#include <optional>

#include "transport/common/packet_origin.h"
#include "verbena/counters.h"
#include "verbena/ip_address.h"

namespace verbena::adapter {

// Whom a connected queue pair listens to. Queue pair numbers come back, in this process or in
// another at the same endpoint, so a packet with the right numbers is the peer's only if it comes
// from the peer's socket: no other process of its machine can send from there while it lives. A
// value type.
struct PeerAddress {
  IpAddress address = {};
  IpAddress own_address = {};
  uint16_t port = 0;  // of its endpoint; 0: not known, or any in strict mode
};

// The reason why a packet is not the peer's, if it is not. IBA 9.6.1.5 has the addresses checked.
[[nodiscard]] inline std::optional<Drop> CheckPeer(const PeerAddress& peer,
                                                   const transport::PacketOrigin& origin) {
  if (origin.source != peer.address || origin.destination != peer.own_address) {
    return Drop::kWrongPeer;
  }
  if (peer.port != 0 && origin.source_port != peer.port) return Drop::kWrongPort;
  return std::nullopt;
}

}  // namespace verbena::adapter
