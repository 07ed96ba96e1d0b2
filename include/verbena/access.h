#pragma once

#include <cstdint>

namespace verbena {

// What may be done to memory, and by whom. A set: combine with |.
enum class Access : uint8_t {
  kNone = 0,
  kLocalRead = 1 << 0,   // sent from
  kLocalWrite = 1 << 1,  // received into
  kRemoteRead = 1 << 2,
  kRemoteWrite = 1 << 3,   // needs kLocalWrite: an owner cannot grant more than it has
  kRemoteAtomic = 1 << 4,  // likewise
  kWindowBind = 1 << 5,    // windows may be bound to it

  kLocal = kLocalRead | kLocalWrite,
  kRemote = kRemoteRead | kRemoteWrite | kRemoteAtomic,
  kAll = kLocal | kRemote | kWindowBind,
};

[[nodiscard]] constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}

// Whether `all` has each of `some`.
[[nodiscard]] constexpr bool Has(Access all, Access some) {
  return (static_cast<uint8_t>(all) & static_cast<uint8_t>(some)) == static_cast<uint8_t>(some);
}

}  // namespace verbena
