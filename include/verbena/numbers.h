#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "verbena/serial_number.h"
#include "verbena/strong_id.h"

namespace verbena {

// The numbers of the verbs, each a type of its own, so that one cannot be passed where another is
// meant: QpNumber{17}. value() gives the integer back. All layers use them as they stand here.

using WrId = StrongId<struct WrIdTag, uint64_t>;          // of a work request: the program's own
using QpNumber = StrongId<struct QpNumberTag, uint32_t>;  // 24 bits
using SrqNumber =
    StrongId<struct SrqNumberTag, uint32_t>;      // of an XRC shared receive queue: 24 bits
using Psn = SerialNumber<struct PsnTag, 24>;      // packet sequence number
using QKey = StrongId<struct QKeyTag, uint32_t>;  // of datagrams
using AddressHandleId = StrongId<struct AddressHandleIdTag, uint32_t>;
using TagHandle = StrongId<struct TagHandleTag, uint32_t>;  // of a tagged receive

// Immediate data, as the 32 bits that the program reads as a number in network byte order.
using Immediate = StrongId<struct ImmediateTag, uint32_t>;

// Which completion queue, or shared receive queue, an event is of.
using CqId = StrongId<struct CqIdTag, uintptr_t>;
using SrqId = StrongId<struct SrqIdTag, uintptr_t>;

// What a work request or packet carries beside a key. That of a zero-based key starts at 0.
using KeyAddress = StrongId<struct KeyAddressTag, uint64_t>;

// Which entry of the protection table a key names (24 bits), and which of its lives (8 bits).
using KeyIndex = StrongId<struct KeyIndexTag, uint32_t>;
using KeyVariant = StrongId<struct KeyVariantTag, uint8_t>;

inline constexpr uint32_t kKeyIndexCount = 1U << 24;

// What programs call L_Key, R_Key or STag:
//
//    31                             8 7             0
//   +--------------------------------+---------------+
//   |             index              |    variant    |
//   +--------------------------------+---------------+
//
// The variant changes whenever the entry gets a new meaning, so that a key kept too long is
// recognised. No valid key has the value 0.
class Key {
 public:
  constexpr Key() = default;
  constexpr explicit Key(uint32_t value) : value_(value) {}
  // REQUIRES: index < kKeyIndexCount.
  constexpr Key(KeyIndex index, KeyVariant variant)
      : value_(index.value() << 8 | variant.value()) {}

  [[nodiscard]] constexpr KeyIndex index() const { return KeyIndex(value_ >> 8); }
  [[nodiscard]] constexpr KeyVariant variant() const {
    return KeyVariant(static_cast<uint8_t>(value_));
  }
  [[nodiscard]] constexpr uint32_t value() const { return value_; }

  friend constexpr auto operator<=>(Key, Key) = default;

 private:
  uint32_t value_ = 0;
};

// The same entry in its next life: what a program chooses when it binds a window, or registers by
// work request a second time.
[[nodiscard]] constexpr Key NextKey(Key key) {
  return {key.index(), KeyVariant(static_cast<uint8_t>(key.variant().value() + 1))};
}

}  // namespace verbena

template <>
struct std::hash<verbena::Key> {
  std::size_t operator()(verbena::Key key) const noexcept { return key.value(); }
};
