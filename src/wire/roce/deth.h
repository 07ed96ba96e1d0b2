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

// Datagram extended transport header (IBA 9.3.2): the source queue pair of a datagram, and the
// Q_Key that allows sending it.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                             Q_Key                             |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |    Reserved   |                     SrcQP                     |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct Deth {
  static constexpr std::size_t kSize = 8;
  static constexpr Extension kExtension = Extension::kDeth;

  QKey q_key{};
  QpNumber source_qp{};

  [[nodiscard]] static std::optional<Deth> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return Deth{.q_key = QKey(reader->Load32<0>()), .source_qp = QpNumber(reader->Load24<5>())};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store8<4>(0);
    writer.Store32<0>(q_key.value());
    writer.Store24<5>(source_qp.value());
  }

  friend bool operator==(const Deth&, const Deth&) = default;
};

[[nodiscard]] std::string ToString(const Deth& deth);

}  // namespace verbena::wire
