#pragma once

#include <compare>
#include <cstdint>

#include "base/check.h"
#include "base/strong_id.h"

namespace verbena::memory {

// Which entry of the protection table a key names (24 bits), and which of its lives (8 bits).
using KeyIndex = StrongId<struct KeyIndexTag, uint32_t>;
using Variant = StrongId<struct VariantTag, uint8_t>;

constexpr uint32_t kKeyIndexCount = 1u << 24;

// What programs call L_Key, R_Key or STag:
//
//    31                             8 7             0
//   +--------------------------------+---------------+
//   |             index              |   variant    |
//   +--------------------------------+---------------+
//
// The variant changes whenever the entry gets a new meaning, so that a key kept too long is
// recognised. No valid key has the value 0.
class Key {
 public:
  constexpr Key() = default;
  constexpr explicit Key(uint32_t value) : value_(value) {}
  constexpr Key(KeyIndex index, Variant variant) : value_(index.value() << 8 | variant.value()) {
    DCHECK(index.value() < kKeyIndexCount);
  }

  constexpr KeyIndex index() const { return KeyIndex(value_ >> 8); }
  constexpr Variant variant() const { return Variant(static_cast<uint8_t>(value_)); }
  constexpr uint32_t value() const { return value_; }

  friend constexpr auto operator<=>(Key, Key) = default;

 private:
  uint32_t value_ = 0;
};

}  // namespace verbena::memory

template <>
struct std::hash<verbena::memory::Key> {
  size_t operator()(verbena::memory::Key key) const noexcept { return key.value(); }
};
