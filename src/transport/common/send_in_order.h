#pragma once

#include <array>
#include <optional>
#include <span>

#include "memory/address.h"
#include "transport/common/outbox.h"

namespace verbena::transport {

// Hands on the packets of one queue pair. send(packet) copies the payload, and returns the byte of
// it that is gone, if one is; then the packet is taken back, and with it those behind it of the
// same half, so that the peer sees no hole. take_back(packet, gone) tells the queue pair; `gone` is
// empty for those behind, of which it may insist that one is sent.
template <class Send, class TakeBack>
void SendInOrder(std::span<const OutPacket> packets, Send send, TakeBack take_back) {
  bool any_lost = false;
  std::array<bool, 2> has_lost{};  // of answers, of requests
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
