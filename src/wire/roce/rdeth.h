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

// Reliable datagram extended transport header (IBA 9.3.1): the end-to-end context that carries it.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |    Reserved   |                   EE-Context                  |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct Rdeth {
  static constexpr std::size_t kSize = 4;
  static constexpr Extension kExtension = Extension::kRdeth;

  EeContext ee_context{};

  [[nodiscard]] static std::optional<Rdeth> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return Rdeth{.ee_context = EeContext(reader->Load24<1>())};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store8<0>(0);
    writer.Store24<1>(ee_context.value());
  }

  friend bool operator==(const Rdeth&, const Rdeth&) = default;
};

[[nodiscard]] std::string ToString(const Rdeth& rdeth);

}  // namespace verbena::wire
