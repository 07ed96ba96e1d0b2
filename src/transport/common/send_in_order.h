#pragma once

#include <array>
#include <optional>
#include <span>

#include "memory/address.h"
#include "transport/common/outbox.h"

namespace verbena::transport {

// Sends the packets of one queue pair. send(packet) copies the payload; if the copy meets a missing
// page, it returns the address of the missing byte. Then the packet is taken back, and with it all
// later packets of the same half (requester or responder), so that the peer sees no gap.
// take_back(packet, gone) informs the queue pair. For later packets `gone` is empty, and the queue
// pair can return false to have the packet sent nevertheless.
template <class Send, class TakeBack>
void SendInOrder(std::span<const OutPacket> packets, Send send, TakeBack take_back) {
  bool any_lost = false;
  std::array<bool, 2> has_lost{};  // responses, requests
  for (const OutPacket& packet : packets) {
    if (any_lost && has_lost[IsRequest(packet) ? 1 : 0] && take_back(packet, std::nullopt)) {
      continue;
    }
    const std::optional<memory::MachineAddress> gone = send(packet);
    if (!gone) [[likely]] {
      continue;
    }
    take_back(packet, gone);
    any_lost = has_lost[IsRequest(packet) ? 1 : 0] = true;
  }
}

}  // namespace verbena::transport
