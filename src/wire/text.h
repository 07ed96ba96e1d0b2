#pragma once

#include <cstdint>
#include <string>

namespace verbena::wire {

// The lowest `digits` hexadecimal digits of `value` behind "0x", zeros included, so that the width
// of a field shows.
[[nodiscard]] std::string Hex(uint64_t value, unsigned digits);

}  // namespace verbena::wire
