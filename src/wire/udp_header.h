#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"

namespace verbena::wire {

// UDP header (RFC 768).
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |          Source Port          |       Destination Port        |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |            Length             |           Checksum            |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct UdpHeader {
  static constexpr std::size_t kSize = 8;

  uint16_t source_port = 0;
  uint16_t destination_port = 0;
  uint16_t length = kSize;
  uint16_t checksum = 0;  // none: the ICRC protects RoCE (IBA A17.3.1)

  [[nodiscard]] static std::optional<UdpHeader> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    return UdpHeader{.source_port = reader->Load16<0>(),
                     .destination_port = reader->Load16<2>(),
                     .length = reader->Load16<4>(),
                     .checksum = reader->Load16<6>()};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store16<0>(source_port);
    writer.Store16<2>(destination_port);
    writer.Store16<4>(length);
    writer.Store16<6>(checksum);
  }

  friend bool operator==(const UdpHeader&, const UdpHeader&) = default;
};

[[nodiscard]] std::string ToString(const UdpHeader& header);

}  // namespace verbena::wire
