#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/check.h"

namespace verbena::wire {

// Bit fields within a byte; bit 0 is the highest, as in the tables of IBA 12.6.

template <unsigned kBit, unsigned kWidth>
[[nodiscard]] constexpr uint8_t BitsOf(uint8_t byte) {
  static_assert(kWidth > 0 && kBit + kWidth <= 8);
  return static_cast<uint8_t>(byte >> (8 - kBit - kWidth) & ((1U << kWidth) - 1));
}

struct BitField {
  uint8_t value;
  unsigned width;
};

// Packs the fields from the highest bit on; the remaining bits are zero.
[[nodiscard]] constexpr uint8_t PackBits(std::initializer_list<BitField> fields) {
  unsigned byte = 0, used = 0;
  for (const BitField& field : fields) {
    used += field.width;
    CHECK(used <= 8 && field.value >> field.width == 0);
    byte |= static_cast<unsigned>(field.value) << (8 - used);
  }
  return static_cast<uint8_t>(byte);
}

}  // namespace verbena::wire
