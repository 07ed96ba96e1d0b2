#pragma once

#include <cstddef>
#include <span>

#include "memory/refusal.h"
#include "transport/common/refusal_counters.h"
#include "wire/roce/bth.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

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
