#pragma once

#include <cstdint>

#include "verbena/numbers.h"

namespace verbena::wire {

// The numbers in iWARP headers beside those of verbena/numbers.h. An STag is a Key, and a tagged
// offset a KeyAddress.

// Message sequence number of an untagged queue. (RFC 5041, 4.3) The first message has number 1.
using DdpMsn = SerialNumber<struct DdpMsnTag, 32>;
inline constexpr DdpMsn kFirstDdpMsn{1};

// Offset of a segment in its untagged message.
using MessageOffset = StrongId<struct MessageOffsetTag, uint32_t>;

// Position in the byte stream of one direction, from the first byte of MPA's full operation phase
// on. 64 bits do not wrap in practice.
using StreamOffset = StrongId<struct StreamOffsetTag, uint64_t>;
[[nodiscard]] constexpr StreamOffset operator+(StreamOffset offset, uint64_t bytes) {
  return StreamOffset(offset.value() + bytes);
}
// REQUIRES: `from` is not after `to`.
[[nodiscard]] constexpr uint64_t BytesBetween(StreamOffset from, StreamOffset to) {
  return to.value() - from.value();
}

}  // namespace verbena::wire
