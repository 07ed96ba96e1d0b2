#pragma once

#include <endian.h>
#include <linux/types.h>

#include <cstdint>

#include "verbena/numbers.h"

namespace verbena::ibverbs {

// QP numbers, PSNs and XRC SRQ numbers have 24 bits on the wire and 32 in the structures of the
// verbs. Drivers use the low 24 bits and ignore the others, so programs can have anything there.
[[nodiscard]] constexpr uint32_t Low24(uint32_t number) { return number & 0xFF'FFFF; }

// Immediate data of the verbs is in network byte order: its bytes in memory are those of the
// packet. Ours is a number, whose highest byte is the first of the packet.
[[nodiscard]] inline Immediate ToImmediate(__be32 data) { return Immediate{be32toh(data)}; }
[[nodiscard]] inline __be32 FromImmediate(Immediate immediate) {
  return htobe32(immediate.value());
}

}  // namespace verbena::ibverbs
