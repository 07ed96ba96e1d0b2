#pragma once

#include <cstdint>

#include "verbena/strong_id.h"

namespace verbena::host {

// Of the messages to and from a broker. The one that speaks first says which version it speaks.
inline constexpr uint16_t kProtocolVersion = 2;

// A guest of a broker: never used again for another guest of the same broker.
using GuestId = StrongId<struct GuestIdTag, uint64_t>;

// A registered region of a guest; the guest chooses the number.
using RegionNumber = StrongId<struct RegionNumberTag, uint32_t>;

// Bytes of a region. A length of 0: all of it.
struct RegionPart {
  uint64_t offset = 0;
  uint64_t length = 0;

  [[nodiscard]] bool is_whole() const { return length == 0; }
  friend bool operator==(const RegionPart&, const RegionPart&) = default;
};

}  // namespace verbena::host
