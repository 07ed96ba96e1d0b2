#pragma once

// Marks in the BTH of a response, for requesters of Verbena. Other adapters ignore these bits.

#include <cstddef>
#include <span>

#include "memory/refusal.h"
#include "transport/common/refusal_counters.h"
#include "wire/roce/bth.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// A responder marks responses that it sends because pages of its memory are absent. The peer is not
// at fault, so they cost a requester of Verbena no retry. The mark is the AckReq bit of the BTH.
// IBA 9.2 defines that bit for requests only; other adapters send responses with 0 there, and
// ignore it in responses that they receive.
inline void MarkFault(wire::Bth& bth) { bth.ack_request = true; }

// REQUIRES: the packet is a response.
[[nodiscard]] inline bool IsMarkedFault(const wire::Bth& bth) { return bth.ack_request; }

// A NAK for a request whose key the tables refuse names the check, for requesters of Verbena: 1 for
// check a to 7 for check g, in the reserved bits of the BTH beside AckReq. IBA 9.2: other adapters
// send these bits as 0, and ignore them in packets that they receive.
inline void MarkRefusal(std::span<std::byte> headers, VendorError check) {
  headers[wire::Bth::kReservedByte] |= std::byte(check - kFirstCheck + 1);
}

// 0 if it names no check.
[[nodiscard]] inline VendorError RefusalMarkOf(const wire::Packet& packet) {
  const auto bits = std::to_integer<unsigned>(packet.bytes()[wire::Bth::kReservedByte] &
                                              wire::Bth::kReservedMask);
  if (bits == 0 || bits > kChecks) return 0;
  return static_cast<VendorError>(kFirstCheck + bits - 1);
}

}  // namespace verbena::transport
