#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/check.h"
#include "wire/roce/opcode.h"

namespace verbena::wire {

// Flush extended transport header (IBA 1.5, A19.4.1): the placement that the bytes must have
// reached when the FLUSH is answered, and whether it covers a range or the whole region.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                      Reserved                     |SEL|  PLT  |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct Feth {
  static constexpr std::size_t kSize = 4;
  static constexpr Extension kExtension = Extension::kFeth;

  // Bits of `placement`.
  static constexpr uint8_t kGlobalVisibility = 1;
  static constexpr uint8_t kPersistence = 2;
  // Values of `selectivity`.
  static constexpr uint8_t kRange = 0;        // the range of the RETH
  static constexpr uint8_t kWholeRegion = 1;  // the RETH only names the region

  uint8_t placement = 0;    // 4 bits
  uint8_t selectivity = 0;  // 2 bits

  // Accepts reserved values: the responder answers them with a NAK.
  [[nodiscard]] static std::optional<Feth> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    const uint8_t low = reader->Load8<3>();
    return Feth{.placement = static_cast<uint8_t>(low & 0xF),
                .selectivity = static_cast<uint8_t>(low >> 4 & 3)};
  }

  void Serialize(std::span<std::byte> bytes) const {
    CHECK(placement <= 0xF && selectivity <= 3);
    ByteWriter<kSize> writer(bytes);
    writer.Store32<0>(uint32_t{selectivity} << 4 | placement);
  }

  friend bool operator==(const Feth&, const Feth&) = default;
};

[[nodiscard]] std::string ToString(const Feth& feth);

}  // namespace verbena::wire
