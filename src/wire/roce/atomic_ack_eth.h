#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/roce/opcode.h"

namespace verbena::wire {

// Atomic acknowledge extended transport header (IBA 9.3.5.3): the original contents of the memory.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                  Original Remote Data (high)                  |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                   Original Remote Data (low)                  |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct AtomicAckEth {
  static constexpr std::size_t kSize = 8;
  static constexpr Extension kExtension = Extension::kAtomicAckEth;

  uint64_t original = 0;

  [[nodiscard]] static std::optional<AtomicAckEth> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return AtomicAckEth{.original = reader->Load64<0>()};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store64<0>(original);
  }

  friend bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;
};

[[nodiscard]] std::string ToString(const AtomicAckEth& ack);

}  // namespace verbena::wire
