#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "verbena/serial_number.h"
#include "verbena/strong_id.h"

namespace verbena {

// The numbers of the verbs, each with its own type, so that one cannot be passed for another:
// QpNumber{17}. value() returns the integer. All layers use them.

using WrId = StrongId<struct WrIdTag, uint64_t>;  // of a work request; chosen by the program
using QpNumber = StrongId<struct QpNumberTag, uint32_t>;  // 24 bits
using SrqNumber =
    StrongId<struct SrqNumberTag, uint32_t>;      // of an XRC shared receive queue: 24 bits
using Psn = SerialNumber<struct PsnTag, 24>;      // packet sequence number
using QKey = StrongId<struct QKeyTag, uint32_t>;  // of datagrams
using AddressHandleId = StrongId<struct AddressHandleIdTag, uint32_t>;
using TagHandle = StrongId<struct TagHandleTag, uint32_t>;  // of a tagged receive

// Immediate data, as the 32 bits that the program reads as a number in network byte order.
using Immediate = StrongId<struct ImmediateTag, uint32_t>;

// Identifies the completion queue or shared receive queue of an event.
using CqId = StrongId<struct CqIdTag, uintptr_t>;
using SrqId = StrongId<struct SrqIdTag, uintptr_t>;

// The address that a work request or packet carries with a key. For a zero-based key it starts at
// 0.
using KeyAddress = StrongId<struct KeyAddressTag, uint64_t>;

// The entry of the protection table (24 bits), and the variant of its key (8 bits).
using KeyIndex = StrongId<struct KeyIndexTag, uint32_t>;
using KeyVariant = StrongId<struct KeyVariantTag, uint8_t>;

inline constexpr uint32_t kKeyIndexCount = 1U << 24;

// An L_Key, R_Key or STag:
//
//    31                             8 7             0
//   +--------------------------------+---------------+
//   |             index              |    variant    |
//   +--------------------------------+---------------+
//
// The variant changes whenever the entry is reused, so that a stale key is recognised. No valid key
// has the value 0.
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

// The key of the same entry with the next variant: for a program that binds a window, or registers
// by work request a second time.
[[nodiscard]] constexpr Key NextKey(Key key) {
  return {key.index(), KeyVariant(static_cast<uint8_t>(key.variant().value() + 1))};
}

}  // namespace verbena

template <>
struct std::hash<verbena::Key> {
  std::size_t operator()(verbena::Key key) const noexcept { return key.value(); }
};
