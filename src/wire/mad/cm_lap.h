#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wire/mad/cm_attribute.h"
#include "wire/mad/cm_path.h"
#include "wire/mad/cm_types.h"
#include "wire/mad/private_data.h"
#include "wire/roce/types.h"

namespace verbena::wire {

// LAP: proposes an alternate path (IBA 12.8.1).
//
//   byte[bit] bits  field
//        0     32  local_comm_id
//        4     32  remote_comm_id
//       12     24  remote_qp
//    15[0]      5  remote_response_timeout
//       20    352  alternate
//       64   1344  private_data
//
// Byte offsets are relative to the end of the MAD header; bit 0 is the highest. A value type.
struct CmLap {
  static constexpr std::size_t kSize = kCmMessageSize;
  static constexpr CmAttribute kAttribute = CmAttribute::kLap;

  CommId local_comm_id{};   // of the sender
  CommId remote_comm_id{};  // of the receiver
  QpNumber remote_qp{};     // of the receiver
  CmTimeout remote_response_timeout{};
  CmPath alternate{};
  PrivateData<168> private_data{};

  // nullopt if there are too few bytes.
  [[nodiscard]] static std::optional<CmLap> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const CmLap&, const CmLap&) = default;
};

[[nodiscard]] std::string ToString(const CmLap& message);

}  // namespace verbena::wire
