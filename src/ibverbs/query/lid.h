#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "verbena/gid.h"

// Local identifiers for programs that know no other address. A port has 16 bits of one: the low
// half of its IPv4 address. So a LID finds every host whose address has the same upper half, which
// is what a /16 network, or anything smaller, is.

namespace verbena::ibverbs {

// The address that this port's LID stands for: the first IPv4 address that is not loopback, or
// 127.0.0.1.
[[nodiscard]] std::optional<GidEntry> LidOwner(std::span<const GidEntry> present);

// Of 127.0.0.1 it is 1, and of an address without one, such as a.b.0.0, it is 0: none.
[[nodiscard]] uint16_t LidOf(const Gid& gid);

// The address in the network of `own` that has this LID.
[[nodiscard]] Gid GidOfLid(uint16_t lid, const Gid& own);

}  // namespace verbena::ibverbs
