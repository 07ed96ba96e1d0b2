#pragma once

#include <cstdint>

namespace verbena::ibverbs {

// QP numbers, PSNs and XRC SRQ numbers have 24 bits on the wire and 32 in the structures of the
// verbs. Drivers use the low 24 bits and ignore the others, so programs can have anything there.
[[nodiscard]] constexpr uint32_t Low24(uint32_t number) { return number & 0xFF'FFFF; }

}  // namespace verbena::ibverbs
