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

// APR: answers a LAP (IBA 12.8.2).
//
//   byte[bit] bits  field
//        0     32  local_comm_id
//        4     32  remote_comm_id
//        8      8  info_length
//        9      8  status
//       12    576  info
//       84   1184  private_data
//
// Byte offsets are relative to the end of the MAD header; bit 0 is the highest. A value type.
struct CmApr {
  static constexpr std::size_t kSize = kCmMessageSize;
  static constexpr CmAttribute kAttribute = CmAttribute::kApr;

  CommId local_comm_id{};   // of the sender
  CommId remote_comm_id{};  // of the receiver
  uint8_t info_length{};    // valid bytes of `info`
  CmAprStatus status{};
  PrivateData<72> info{};
  PrivateData<148> private_data{};

  // nullopt if there are too few bytes, or if a field has a reserved value.
  [[nodiscard]] static std::optional<CmApr> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const CmApr&, const CmApr&) = default;
};

[[nodiscard]] std::string ToString(const CmApr& message);

}  // namespace verbena::wire
