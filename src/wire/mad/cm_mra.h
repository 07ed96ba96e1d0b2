#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wire/mad/cm_attribute.h"
#include "wire/mad/cm_types.h"
#include "wire/mad/private_data.h"
#include "wire/roce/types.h"

namespace verbena::wire {

// MRA: the message has arrived, and its answer is delayed (IBA 12.6.6).
//
//   byte[bit] bits  field
//        0     32  local_comm_id
//        4     32  remote_comm_id
//     8[0]      2  received
//     9[0]      5  service_timeout
//       10   1776  private_data
//
// Byte offsets are relative to the end of the MAD header; bit 0 is the highest. A value type.
struct CmMra {
  static constexpr std::size_t kSize = kCmMessageSize;
  static constexpr CmAttribute kAttribute = CmAttribute::kMra;

  CommId local_comm_id{};   // of the sender
  CommId remote_comm_id{};  // of the receiver
  CmSubject received{};
  CmTimeout service_timeout{};
  PrivateData<222> private_data{};

  // nullopt if there are too few bytes, or if a field has a reserved value.
  [[nodiscard]] static std::optional<CmMra> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const CmMra&, const CmMra&) = default;
};

[[nodiscard]] std::string ToString(const CmMra& message);

}  // namespace verbena::wire
