#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/roce/opcode.h"
#include "wire/roce/syndrome.h"
#include "wire/roce/types.h"

namespace verbena::wire {

// ACK extended transport header (IBA 9.3.5): ACK or NAK, and the number of messages that the
// responder has completed.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |   Syndrome    |                      MSN                      |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct Aeth {
  static constexpr std::size_t kSize = 4;
  static constexpr Extension kExtension = Extension::kAeth;

  Syndrome syndrome{};
  Msn msn{};

  // Also nullopt for a reserved syndrome.
  [[nodiscard]] static std::optional<Aeth> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    const auto syndrome = Syndrome::FromByte(reader->Load8<0>());
    if (!syndrome) return std::nullopt;
    return Aeth{.syndrome = *syndrome, .msn = Msn(reader->Load24<1>())};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store8<0>(syndrome.byte());
    writer.Store24<1>(msn.value());
  }

  friend bool operator==(const Aeth&, const Aeth&) = default;
};

[[nodiscard]] std::string ToString(const Aeth& aeth);

}  // namespace verbena::wire
