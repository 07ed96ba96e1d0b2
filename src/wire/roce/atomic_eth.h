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

// Atomic extended transport header (IBA 9.3.4): the address of eight bytes, and the operands.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                     Virtual Address (high)                    |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                     Virtual Address (low)                     |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                             R_Key                             |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                    Swap or Add Data (high)                    |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                     Swap or Add Data (low)                    |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                      Compare Data (high)                      |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                       Compare Data (low)                      |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct AtomicEth {
  static constexpr std::size_t kSize = 28;
  static constexpr Extension kExtension = Extension::kAtomicEth;

  KeyAddress address{};
  Key r_key{};
  uint64_t swap_or_add = 0;
  uint64_t compare = 0;  // CmpSwap only

  [[nodiscard]] static std::optional<AtomicEth> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return AtomicEth{.address = KeyAddress(reader->Load64<0>()),
                     .r_key = Key(reader->Load32<8>()),
                     .swap_or_add = reader->Load64<12>(),
                     .compare = reader->Load64<20>()};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store64<0>(address.value());
    writer.Store32<8>(r_key.value());
    writer.Store64<12>(swap_or_add);
    writer.Store64<20>(compare);
  }

  friend bool operator==(const AtomicEth&, const AtomicEth&) = default;
};

[[nodiscard]] std::string ToString(const AtomicEth& atomic);

}  // namespace verbena::wire
