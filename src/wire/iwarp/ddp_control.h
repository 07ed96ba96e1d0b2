#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "wire/iwarp/rdmap_opcode.h"

namespace verbena::wire {

// The two control bytes in front of every DDP segment: one of DDP (RFC 5041, 4.1), and the one of
// its upper layer, which is RDMAP's (RFC 5040, 4.1).
//
//    0                   1
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |T|L| Rsvd  |DV | RV|Rsv| Opcode|
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// Both versions are parsed as they are, because each has its own Terminate code. A value type.
struct DdpControl {
  static constexpr std::size_t kSize = 2;
  static constexpr uint8_t kVersion = 1;  // of both

  bool tagged = false;
  bool last = false;  // segment of the message
  uint8_t ddp_version = kVersion;
  uint8_t rdmap_version = kVersion;
  RdmapOpcode opcode{};  // may be one without a meaning

  [[nodiscard]] static std::optional<DdpControl> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    const uint8_t ddp = reader->Load8<0>();
    const uint8_t rdmap = reader->Load8<1>();
    return DdpControl{.tagged = (ddp & 0x80) != 0,
                      .last = (ddp & 0x40) != 0,
                      .ddp_version = static_cast<uint8_t>(ddp & 0x03),
                      .rdmap_version = static_cast<uint8_t>(rdmap >> 6),
                      .opcode = static_cast<RdmapOpcode>(rdmap & 0x0F)};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store8<0>(static_cast<uint8_t>((tagged ? 0x80 : 0) | (last ? 0x40 : 0) | ddp_version));
    writer.Store8<1>(static_cast<uint8_t>(rdmap_version << 6 | static_cast<uint8_t>(opcode)));
  }

  friend bool operator==(const DdpControl&, const DdpControl&) = default;
};

[[nodiscard]] std::string ToString(const DdpControl& control);

}  // namespace verbena::wire
