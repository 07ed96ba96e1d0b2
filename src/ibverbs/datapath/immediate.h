#pragma once

#include <endian.h>
#include <linux/types.h>

#include "verbena/numbers.h"

namespace verbena::ibverbs {

// Immediate data of the verbs is in network byte order: its bytes in memory are those of the
// packet. Ours is a number, whose highest byte is the first of the packet.
[[nodiscard]] inline Immediate ToImmediate(__be32 data) { return Immediate{be32toh(data)}; }
[[nodiscard]] inline __be32 FromImmediate(Immediate immediate) {
  return htobe32(immediate.value());
}

}  // namespace verbena::ibverbs
