#pragma once

#include <cstdint>

namespace verbena::ibverbs {

// QP numbers, sequence numbers and XRC receive queue numbers have 24 bits on the wire and 32 in the
// structures of the verbs. Drivers take the low ones and look at no others, and so programs may
// have anything in the rest.
[[nodiscard]] constexpr uint32_t Low24(uint32_t number) { return number & 0xFF'FFFF; }

}  // namespace verbena::ibverbs
