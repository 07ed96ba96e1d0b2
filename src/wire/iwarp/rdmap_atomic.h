#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "verbena/strong_id.h"
#include "wire/iwarp/types.h"

namespace verbena::wire {

enum class RdmapAtomicOpcode : uint8_t { kFetchAdd = 0, kCompareSwap = 2 };

// Number that the requester chooses, and the responder repeats.
using AtomicRequestId = StrongId<struct AtomicRequestIdTag, uint32_t>;

// Body of an Atomic Request (RFC 7306, 5.2.1).
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                 Reserved (Not Used)                   |AOpCode|
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                      Request Identifier                       |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                         Remote STag                           |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                    Remote Tagged Offset (64)                  |
//   +                                                               +
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                     Add or Swap Data (64)                     |
//   +                                                               +
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                     Add or Swap Mask (64)                     |
//   +                                                               +
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                       Compare Data (64)                       |
//   +                                                               +
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                       Compare Mask (64)                       |
//   +                                                               +
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A mask of a swap or comparison selects bits. In the mask of an add, a bit is the last one of a
// field: no carry leaves it. A value type.
struct RdmapAtomicRequest {
  static constexpr std::size_t kSize = 52;

  RdmapAtomicOpcode opcode{};  // may be one without a meaning
  AtomicRequestId id{};
  Key stag{};
  KeyAddress offset{};
  uint64_t add_or_swap = 0;
  uint64_t add_or_swap_mask = 0;
  uint64_t compare = 0;
  uint64_t compare_mask = 0;

  [[nodiscard]] static std::optional<RdmapAtomicRequest> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return RdmapAtomicRequest{.opcode = static_cast<RdmapAtomicOpcode>(reader->Load8<3>() & 0x0F),
                              .id = AtomicRequestId(reader->Load32<4>()),
                              .stag = Key(reader->Load32<8>()),
                              .offset = KeyAddress(reader->Load64<12>()),
                              .add_or_swap = reader->Load64<20>(),
                              .add_or_swap_mask = reader->Load64<28>(),
                              .compare = reader->Load64<36>(),
                              .compare_mask = reader->Load64<44>()};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store32<0>(static_cast<uint32_t>(opcode));
    writer.Store32<4>(id.value());
    writer.Store32<8>(stag.value());
    writer.Store64<12>(offset.value());
    writer.Store64<20>(add_or_swap);
    writer.Store64<28>(add_or_swap_mask);
    writer.Store64<36>(compare);
    writer.Store64<44>(compare_mask);
  }

  friend bool operator==(const RdmapAtomicRequest&, const RdmapAtomicRequest&) = default;
};

// Body of an Atomic Response (RFC 7306, 5.2.2): the value before the operation.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                  Original Request Identifier                  |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                 Original Remote Data Value (64)               |
//   +                                                               +
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct RdmapAtomicResponse {
  static constexpr std::size_t kSize = 12;

  AtomicRequestId id{};
  uint64_t original = 0;

  [[nodiscard]] static std::optional<RdmapAtomicResponse> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return RdmapAtomicResponse{.id = AtomicRequestId(reader->Load32<0>()),
                               .original = reader->Load64<4>()};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store32<0>(id.value());
    writer.Store64<4>(original);
  }

  friend bool operator==(const RdmapAtomicResponse&, const RdmapAtomicResponse&) = default;
};

[[nodiscard]] std::string ToString(const RdmapAtomicRequest& request);
[[nodiscard]] std::string ToString(const RdmapAtomicResponse& response);

}  // namespace verbena::wire
