#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/strong_id.h"
#include "fabric/error.h"
#include "fabric/udp_socket.h"

namespace verbena::fabric {

// Which of the processes on this machine: each has a UDP port of its own.
using Slot = StrongId<struct SlotTag, uint8_t>;

inline constexpr uint16_t kRocePort = 4791;  // IBA A17.3.2
inline constexpr unsigned kSlotCount = 256;

struct SlotOptions {
  uint16_t base_port = kRocePort;  // of slot 0; the others follow
  // Slot 0 or nothing: peers that are not Verbena know no other port.
  bool strict = false;
};

[[nodiscard]] constexpr uint16_t PortOf(Slot slot, uint16_t base_port = kRocePort) {
  return static_cast<uint16_t>(base_port + slot.value());
}

// Binds `socket` to the port of the first slot that no other process has, on all addresses. The
// slot is free again when the socket is closed, however the process ends.
[[nodiscard]] Result<Slot, FabricError> ClaimSlot(UdpSocket& socket, const SlotOptions& options);

}  // namespace verbena::fabric
