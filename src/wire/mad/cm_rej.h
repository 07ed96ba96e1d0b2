#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wire/mad/cm_attribute.h"
#include "wire/mad/cm_reject_reason.h"
#include "wire/mad/cm_types.h"
#include "wire/mad/private_data.h"
#include "wire/roce/types.h"

namespace verbena::wire {

// REJ: refuses a connection, or ends one during its establishment (IBA 12.6.7).
//
//   byte[bit] bits  field
//        0     32  local_comm_id
//        4     32  remote_comm_id
//     8[0]      2  rejected
//     9[0]      7  info_length
//       10     16  reason
//       12    576  info
//       84   1184  private_data
//
// Byte offsets are relative to the end of the MAD header; bit 0 is the highest. A value type.
struct CmRej {
  static constexpr std::size_t kSize = kCmMessageSize;
  static constexpr CmAttribute kAttribute = CmAttribute::kRej;

  CommId local_comm_id{};   // of the sender
  CommId remote_comm_id{};  // of the receiver
  CmSubject rejected{};
  uint8_t info_length{};  // valid bytes of `info`
  CmRejectReason reason{};
  PrivateData<72> info{};  // additional reject information
  PrivateData<148> private_data{};

  // nullopt if there are too few bytes, or if a field has a reserved value.
  [[nodiscard]] static std::optional<CmRej> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const CmRej&, const CmRej&) = default;
};

[[nodiscard]] std::string ToString(const CmRej& message);

}  // namespace verbena::wire
