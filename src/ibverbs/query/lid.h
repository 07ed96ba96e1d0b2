#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "verbena/gid.h"

// LIDs, for programs that address by LID only. The LID of a port is the low 16 bits of its IPv4
// address. So a LID reaches every host with the same upper 16 bits: all hosts of a /16 network or a
// smaller one.

namespace verbena::ibverbs {

// The address that this port's LID stands for: the first IPv4 address that is not loopback, or
// 127.0.0.1.
[[nodiscard]] std::optional<GidEntry> LidOwner(std::span<const GidEntry> present);

// The LID of an address: 1 for 127.0.0.1. 0 means that it has none, as a.b.0.0.
[[nodiscard]] uint16_t LidOf(const Gid& gid);

// The address in the network of `own` that has this LID.
[[nodiscard]] Gid GidOfLid(uint16_t lid, const Gid& own);

}  // namespace verbena::ibverbs
