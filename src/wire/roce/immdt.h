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

// Immediate data (IBA 9.3.6): four bytes for the completion of the receiver.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                         Immediate Data                        |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct ImmDt {
  static constexpr std::size_t kSize = 4;
  static constexpr Extension kExtension = Extension::kImmDt;

  uint32_t data = 0;

  [[nodiscard]] static std::optional<ImmDt> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return ImmDt{.data = reader->Load32<0>()};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store32<0>(data);
  }

  friend bool operator==(const ImmDt&, const ImmDt&) = default;
};

[[nodiscard]] std::string ToString(const ImmDt& immdt);

}  // namespace verbena::wire
