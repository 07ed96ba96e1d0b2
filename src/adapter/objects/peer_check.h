#pragma once

#include <cstdint>
#include <optional>

#include "transport/common/packet_origin.h"
#include "verbena/counters.h"
#include "verbena/ip_address.h"

namespace verbena::adapter {

// The socket from which a connected queue pair accepts packets. Queue pair numbers are reused, in
// this process or in another one at the same endpoint. So a packet with the right numbers is the
// peer's only if it comes from the peer's socket: no other process on its machine can send from
// there while the peer runs. A value type.
struct PeerAddress {
  IpAddress address = {};
  IpAddress own_address = {};
  uint16_t port = 0;  // of its endpoint; 0: not known, or any in strict mode
};

// The reason why a packet is not from the peer, or nullopt if it is. IBA 9.6.1.5 requires the check
// of the addresses.
[[nodiscard]] inline std::optional<Drop> CheckPeer(const PeerAddress& peer,
                                                   const transport::PacketOrigin& origin) {
  if (origin.source != peer.address || origin.destination != peer.own_address) {
    return Drop::kWrongPeer;
  }
  if (peer.port != 0 && origin.source_port != peer.port) return Drop::kWrongPort;
  return std::nullopt;
}

}  // namespace verbena::adapter
