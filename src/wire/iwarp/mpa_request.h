#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/byte_reader.h"
#include "base/byte_writer.h"

namespace verbena::wire {

enum class MpaFrameKind : uint8_t { kRequest, kReply };

// Frame with which a connection begins MPA (RFC 5044, 7.1; the S bit and revision 2 are of RFC
// 6581). Private data follows it.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                                                               |
//   +         Key (16 bytes): "MPA ID Req Frame" of a request,      +
//   |                         "MPA ID Rep Frame" of a reply         |
//   +                                                               +
//   |                                                               |
//   +                                                               +
//   |                                                               |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |M|C|R|S| Res   |     Rev       |          PD_Length            |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct MpaRequest {
  static constexpr std::size_t kSize = 20;
  static constexpr std::size_t kKeySize = 16;
  static constexpr uint16_t kPrivateDataMax = 512;

  MpaFrameKind kind{};
  bool markers = false;   // the sender of this frame wants them in what it receives
  bool crc = false;       // wanted by its sender, and then used in both directions
  bool rejects = false;   // of a reply
  bool enhanced = false;  // an MpaEnhanced begins the private data
  uint8_t revision = 1;
  uint16_t private_data_length = 0;  // may be too large

  // nullopt if there are too few bytes, or if the key is neither of the two.
  [[nodiscard]] static std::optional<MpaRequest> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const MpaRequest&, const MpaRequest&) = default;
};

// Key of a frame, for a receiver that has not got all of it.
[[nodiscard]] std::span<const std::byte> MpaKeyOf(MpaFrameKind kind);

// Beginning of the private data of an enhanced frame (RFC 6581, 4 and 9): the depths of both read
// queues, and which message the initiator may send first, so that the responder knows that it is
// ready (RTR).
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |A|B|           IRD             |C|D|           ORD             |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct MpaEnhanced {
  static constexpr std::size_t kSize = 4;
  static constexpr uint16_t kDepthMax = 0x3FFF;  // as a depth: not negotiated

  bool peer_to_peer = false;     // A: the initiator sends an RTR
  bool rtr_zero_length = false;  // B: it may be an FPDU without a ULPDU
  uint16_t ird = 0;              // reads that the sender of this frame accepts
  bool rtr_write = false;        // C: it may be an RDMA Write without bytes
  bool rtr_read = false;         // D: it may be an RDMA Read without bytes
  uint16_t ord = 0;              // reads that the sender of this frame may send

  [[nodiscard]] static std::optional<MpaEnhanced> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    const uint16_t first = reader->Load16<0>();
    const uint16_t second = reader->Load16<2>();
    return MpaEnhanced{.peer_to_peer = (first & 0x8000) != 0,
                       .rtr_zero_length = (first & 0x4000) != 0,
                       .ird = static_cast<uint16_t>(first & kDepthMax),
                       .rtr_write = (second & 0x8000) != 0,
                       .rtr_read = (second & 0x4000) != 0,
                       .ord = static_cast<uint16_t>(second & kDepthMax)};
  }
  // REQUIRES: both depths are at most kDepthMax.
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const MpaEnhanced&, const MpaEnhanced&) = default;
};

[[nodiscard]] std::string ToString(const MpaRequest& frame);
[[nodiscard]] std::string ToString(const MpaEnhanced& enhanced);

}  // namespace verbena::wire
