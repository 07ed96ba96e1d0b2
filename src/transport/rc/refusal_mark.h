#pragma once

#include <cstddef>
#include <span>

#include "memory/refusal.h"
#include "transport/common/refusal_counters.h"
#include "wire/roce/bth.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// A NAK of a request whose key the tables refuse names the check, to a requester of ours: 1 for
// check a to 7 for check g, in the reserved bits of the BTH beside AckReq. IBA 9.2: others send
// them as 0, and do not look at them when they receive a packet.
inline void MarkRefusal(std::span<std::byte> headers, VendorError check) {
  headers[wire::Bth::kReservedByte] |= std::byte(check - kFirstCheck + 1);
}

// 0 if it names none.
[[nodiscard]] inline VendorError RefusalMarkOf(const wire::Packet& packet) {
  const auto bits = std::to_integer<unsigned>(packet.bytes()[wire::Bth::kReservedByte] &
                                              wire::Bth::kReservedMask);
  if (bits == 0 || bits > kChecks) return 0;
  return static_cast<VendorError>(kFirstCheck + bits - 1);
}

}  // namespace verbena::transport
