#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "memory/address.h"
#include "memory/copy/copier.h"
#include "transport/common/outbox.h"
#include "wire/roce/icrc.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// The size of a packet on the wire: headers, payload, pad and ICRC.
[[nodiscard]] inline size_t WireSizeOf(const OutPacket& packet) {
  return packet.header_size + packet.payload_size + wire::PadFor(packet.payload_size) +
         wire::kIcrcSize;
}

// Writes the packet, its ICRC left zero, with a guarded copy of the payload. If the copy meets a
// missing page, returns the address of the first missing byte; then `bytes` holds no packet.
// REQUIRES: `bytes` has WireSizeOf(packet) bytes.
[[nodiscard]] inline std::optional<memory::MachineAddress> WritePacket(const OutPacket& packet,
                                                                       std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), packet.header.data(), packet.header_size);
  const auto payload = bytes.subspan(packet.header_size, packet.payload_size);
  if (!packet.inlined.empty()) {
    std::memcpy(payload.data(), packet.inlined.data(), payload.size());
  } else if (!payload.empty()) {
    const memory::CopyOutcome outcome = memory::CopyOut(payload, packet.payload);
    // Checks `copied` rather than `fault`, because it is in a register.
    if (outcome.copied != payload.size()) [[unlikely]] {
      return outcome.fault;
    }
  }
  // Pad and ICRC are 4 to 7 bytes: two overlapping stores.
  constexpr uint32_t kZero = 0;
  static_assert(sizeof kZero == wire::kIcrcSize);
  const auto trailer = bytes.subspan(packet.header_size + packet.payload_size);
  std::memcpy(trailer.data(), &kZero, sizeof kZero);
  std::memcpy(trailer.last(sizeof kZero).data(), &kZero, sizeof kZero);
  return std::nullopt;
}

}  // namespace verbena::transport
