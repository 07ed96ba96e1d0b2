#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/roce/opcode.h"
#include "wire/roce/types.h"

namespace verbena::wire {

// Invalidate extended transport header (IBA 9.3.7): the key of the receiver that the send
// invalidates.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                             R_Key                             |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct Ieth {
  static constexpr std::size_t kSize = 4;
  static constexpr Extension kExtension = Extension::kIeth;

  Key r_key{};

  [[nodiscard]] static std::optional<Ieth> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return Ieth{.r_key = Key(reader->Load32<0>())};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store32<0>(r_key.value());
  }

  friend bool operator==(const Ieth&, const Ieth&) = default;
};

[[nodiscard]] std::string ToString(const Ieth& ieth);

}  // namespace verbena::wire
