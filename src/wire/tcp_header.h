#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"

namespace verbena::wire {

// TCP header without options (RFC 9293, 3.1), for captures: the system sends the segments.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |          Source Port          |       Destination Port        |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                        Sequence Number                        |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                    Acknowledgment Number                      |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |   5   |   0   |C|E|U|A|P|R|S|F|            Window             |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |           Checksum            |               0               |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct TcpHeader {
  static constexpr std::size_t kSize = 20;

  uint16_t source_port = 0;
  uint16_t destination_port = 0;
  uint32_t sequence = 0;
  uint32_t acknowledgment = 0;
  bool ack = false;
  bool reset = false;
  bool syn = false;
  bool fin = false;
  uint16_t window = 0;
  uint16_t checksum = 0;  // none: readers of captures do not verify it unless told to

  [[nodiscard]] static std::optional<TcpHeader> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader || reader->Load8<12>() >> 4 != kWords) return std::nullopt;
    const uint8_t flags = reader->Load8<13>();
    return TcpHeader{.source_port = reader->Load16<0>(),
                     .destination_port = reader->Load16<2>(),
                     .sequence = reader->Load32<4>(),
                     .acknowledgment = reader->Load32<8>(),
                     .ack = (flags & 0x10) != 0,
                     .reset = (flags & 0x04) != 0,
                     .syn = (flags & 0x02) != 0,
                     .fin = (flags & 0x01) != 0,
                     .window = reader->Load16<14>(),
                     .checksum = reader->Load16<16>()};
  }

  void Serialize(std::span<std::byte> bytes) const {
    ByteWriter<kSize> writer(bytes);
    writer.Store16<0>(source_port);
    writer.Store16<2>(destination_port);
    writer.Store32<4>(sequence);
    writer.Store32<8>(acknowledgment);
    writer.Store8<12>(kWords << 4);
    const int flags = (ack ? 0x10 : 0) | (reset ? 0x04 : 0) | (syn ? 0x02 : 0) | (fin ? 0x01 : 0);
    writer.Store8<13>(static_cast<uint8_t>(flags));
    writer.Store16<14>(window);
    writer.Store16<16>(checksum);
    writer.Store16<18>(0);
  }

  friend bool operator==(const TcpHeader&, const TcpHeader&) = default;

 private:
  static constexpr uint8_t kWords = kSize / 4;
};

[[nodiscard]] std::string ToString(const TcpHeader& header);

}  // namespace verbena::wire
