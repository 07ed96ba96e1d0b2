#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wire/mad/cm_types.h"
#include "wire/roce/types.h"

namespace verbena::wire {

// The header that all management datagrams share (IBA 13.4.2).
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |  BaseVersion  |   MgmtClass   |  ClassVersion |R|    Method   |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |             Status            |         ClassSpecific         |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                         TransactionID                         |
//   |                                                               |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |          AttributeID          |            Reserved           |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                       AttributeModifier                       |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct MadHeader {
  static constexpr std::size_t kSize = 24;
  static constexpr uint8_t kBaseVersion = 1;

  uint8_t management_class = 0;
  uint8_t class_version = 0;
  uint8_t method = 0;  // with the response bit
  uint16_t status = 0;
  uint16_t class_specific = 0;
  TransactionId transaction{};
  uint16_t attribute = 0;
  uint32_t attribute_modifier = 0;

  // nullopt if there are too few bytes, or if the base version is another one.
  [[nodiscard]] static std::optional<MadHeader> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const MadHeader&, const MadHeader&) = default;
};

static_assert(MadHeader::kSize + kCmMessageSize == kMadSize);

// The GSI: the queue pair of all MADs except those of subnet management, and its Q_Key (IBA 13.5.1,
// 10.2.5).
inline constexpr QpNumber kGeneralServicesQp{1};
inline constexpr QKey kGeneralServicesQKey{0x80010000};

[[nodiscard]] std::string ToString(const MadHeader& header);

}  // namespace verbena::wire
