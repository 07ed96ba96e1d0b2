#pragma once

#include <cstdint>
#include <optional>

#include "memory/access.h"
#include "memory/address.h"
#include "memory/memory_core.h"
#include "transport/common/verdict.h"
#include "verbena/numbers.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/feth.h"
#include "wire/roce/opcode.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"
#include "wire/roce/types.h"

// The checks that a responder makes before it executes a request, in this order (IBA 9.7.4.1). Each
// returns nothing, or the reason for a refusal.

namespace verbena::transport {

// IBA 9.3.3 and C9-94: a DMA length has at most 2^31 bytes.
inline constexpr uint32_t kMessageMax = uint32_t{1} << 31;

// A send or write whose first packet has arrived, and whose last packet has not.
struct InboundMessage {
  bool is_open = false;
  wire::Operation operation{};
  // Of a write: where the next byte goes, how many bytes are still to come, and how many have
  // arrived.
  Key key;
  KeyAddress next;
  uint32_t remaining = 0;
  uint32_t received = 0;
};

// The bytes of this adapter's memory that a request names.
struct RemoteRange {
  Key key;
  KeyAddress start;
  uint32_t length = 0;
};

[[nodiscard]] RemoteRange RangeOf(const wire::Reth& reth);
[[nodiscard]] RemoteRange RangeOf(const wire::AtomicEth& eth);

// The position of a PSN: the half of the circle before the expected PSN is duplicates.
enum class PsnPlace : uint8_t { kExpected, kDuplicate, kAhead };
[[nodiscard]] PsnPlace PlaceOf(Psn psn, Psn expected);

// The number of PSNs that a request takes. A read takes one for each response packet, and every
// message at least one.
[[nodiscard]] uint32_t PsnCountOf(uint32_t length, uint32_t path_mtu);

[[nodiscard]] std::optional<NakReason> CheckOpcodeSequence(const wire::OpcodeInfo& info,
                                                           const InboundMessage& message);
[[nodiscard]] std::optional<NakReason> CheckAllowed(const wire::OpcodeInfo& info,
                                                    Access remote_rights);
[[nodiscard]] std::optional<NakReason> CheckLength(const wire::Packet& packet,
                                                   const InboundMessage& message,
                                                   uint32_t path_mtu);
// Whether a message may access all bytes that its first packet names. If there are no bytes, the
// key is not checked.
[[nodiscard]] std::optional<NakReason> CheckKey(const RemoteRange& range, memory::AccessKind access,
                                                const memory::Accessor& who,
                                                const memory::MemoryCore& memory);
[[nodiscard]] std::optional<NakReason> CheckFlush(const wire::Feth& feth, const RemoteRange& range,
                                                  const memory::Accessor& who,
                                                  const memory::MemoryCore& memory);

}  // namespace verbena::transport
