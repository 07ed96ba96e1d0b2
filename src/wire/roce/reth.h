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

// RDMA extended transport header (IBA 9.3.3): the remote memory of the whole message.
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
//   |                           DMA Length                          |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct Reth {
  static constexpr std::size_t kSize = 16;
  static constexpr Extension kExtension = Extension::kReth;

  KeyAddress address{};
  Key r_key{};
  uint32_t dma_length = 0;

  [[nodiscard]] static std::optional<Reth> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return Reth{.address = KeyAddress(reader->Load64<0>()),
                .r_key = Key(reader->Load32<8>()),
                .dma_length = reader->Load32<12>()};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store64<0>(address.value());
    writer.Store32<8>(r_key.value());
    writer.Store32<12>(dma_length);
  }

  friend bool operator==(const Reth&, const Reth&) = default;
};

[[nodiscard]] std::string ToString(const Reth& reth);

}  // namespace verbena::wire
