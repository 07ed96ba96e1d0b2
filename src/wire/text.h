#pragma once

#include <cstdint>
#include <string>

namespace verbena::wire {

// "0x" and the lowest `digits` hexadecimal digits of `value`, with leading zeros.
[[nodiscard]] std::string Hex(uint64_t value, unsigned digits);

}  // namespace verbena::wire
