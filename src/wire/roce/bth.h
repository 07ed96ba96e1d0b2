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

// Base transport header (IBA 9.2): the first header of every packet.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |    OpCode     |S|M|Pad| TVer  |             P_Key             |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |F|B| Reserved  |                    DestQP                     |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |A|  Reserved   |                      PSN                      |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct Bth {
  static constexpr std::size_t kSize = 12;
  // The byte of FECN, BECN and reserved bits, which switches may change: the ICRC skips it.
  static constexpr std::size_t kVariantByte = 4;
  // The byte of AckReq and seven reserved bits, which the ICRC covers. A Bth does not store the
  // reserved bits.
  static constexpr std::size_t kReservedByte = 8;
  static constexpr std::byte kReservedMask{0x7F};

  Opcode opcode{};
  bool solicited_event = false;
  bool migration_request = false;
  uint8_t pad_count = 0;  // 0 to 3 bytes after the payload, to a multiple of 4
  PKey p_key = kDefaultPKey;
  bool fecn = false;  // forward explicit congestion notification
  bool becn = false;  // backward explicit congestion notification
  QpNumber dest_qp{};
  bool ack_request = false;
  Psn psn{};

  // Accepts any opcode. (IBA C9-6: a packet of another transport version is discarded.)
  [[nodiscard]] static std::optional<Bth> Parse(std::span<const std::byte> bytes) {
    const auto reader = ByteReader<kSize>::From(bytes);
    if (!reader) return std::nullopt;
    // One row of the diagram at a time.
    const uint32_t first = reader->Load32<0>();
    const uint32_t second = reader->Load32<4>();
    const uint32_t third = reader->Load32<8>();
    if ((first & kVersionMask) != 0) return std::nullopt;
    return Bth{.opcode = Opcode(static_cast<uint8_t>(first >> 24)),
               .solicited_event = (first & kSolicited) != 0,
               .migration_request = (first & kMigration) != 0,
               .pad_count = static_cast<uint8_t>(first >> kPadShift & 3),
               .p_key = PKey(static_cast<uint16_t>(first)),
               .fecn = (second & kFecn) != 0,
               .becn = (second & kBecn) != 0,
               .dest_qp = QpNumber(second & kMax24),
               .ack_request = (third & kAckRequest) != 0,
               .psn = Psn(third)};
  }

  void Serialize(std::span<std::byte> bytes) const {
    DCHECK(pad_count <= 3 && dest_qp.value() <= kMax24);
    ByteWriter<kSize> writer(bytes);
    writer.Store32<0>(uint32_t{opcode.value()} << 24 | (solicited_event ? kSolicited : 0) |
                      (migration_request ? kMigration : 0) | uint32_t{pad_count} << kPadShift |
                      p_key.value());
    writer.Store32<4>((fecn ? kFecn : 0) | (becn ? kBecn : 0) | dest_qp.value());
    writer.Store32<8>((ack_request ? kAckRequest : 0) | psn.value());
  }

  friend bool operator==(const Bth&, const Bth&) = default;

 private:
  static constexpr uint32_t kSolicited = 1U << 23;
  static constexpr uint32_t kMigration = 1U << 22;
  static constexpr unsigned kPadShift = 20;
  static constexpr uint32_t kVersionMask = 0xFU << 16;
  static constexpr uint32_t kFecn = 1U << 31;
  static constexpr uint32_t kBecn = 1U << 30;
  static constexpr uint32_t kAckRequest = 1U << 31;
};

[[nodiscard]] std::string ToString(const Bth& bth);

}  // namespace verbena::wire
