#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"

namespace verbena::wire {

// Body of an Immediate Data message (RFC 7306, 6): it follows an RDMA Write, and takes a receive
// request of the peer.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                     Immediate Data (high)                     |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                     Immediate Data (low)                      |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// The verbs have 32 bits, which are the high ones. A value type.
struct RdmapImmediate {
  static constexpr std::size_t kSize = 8;

  uint64_t data = 0;

  [[nodiscard]] static std::optional<RdmapImmediate> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return RdmapImmediate{.data = reader->Load64<0>()};
  }

  void Serialize(std::span<std::byte> bytes) const { ByteWriter<kSize>(bytes).Store64<0>(data); }

  friend bool operator==(const RdmapImmediate&, const RdmapImmediate&) = default;
};

[[nodiscard]] std::string ToString(const RdmapImmediate& immediate);

}  // namespace verbena::wire
