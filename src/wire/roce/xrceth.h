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

// XRC extended transport header (IBA A14.3.1): the shared receive queue of a request.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |    Reserved   |                     XRCSRQ                    |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct Xrceth {
  static constexpr std::size_t kSize = 4;
  static constexpr Extension kExtension = Extension::kXrceth;

  SrqNumber srq{};

  [[nodiscard]] static std::optional<Xrceth> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return Xrceth{.srq = SrqNumber(reader->Load24<1>())};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store8<0>(0);
    writer.Store24<1>(srq.value());
  }

  friend bool operator==(const Xrceth&, const Xrceth&) = default;
};

[[nodiscard]] std::string ToString(const Xrceth& xrceth);

}  // namespace verbena::wire
