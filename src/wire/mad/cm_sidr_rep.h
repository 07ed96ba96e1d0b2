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

// SIDR_REP: answers a SIDR_REQ (IBA 12.11.2).
//
//   byte[bit] bits  field
//        0     32  request_id
//        4      8  status
//        5      8  info_length
//        8     24  qp
//       12     64  service_id
//       20     32  q_key
//       24    576  info
//       96   1088  private_data
//
// Byte offsets are relative to the end of the MAD header; bit 0 is the highest. A value type.
struct CmSidrRep {
  static constexpr std::size_t kSize = kCmMessageSize;
  static constexpr CmAttribute kAttribute = CmAttribute::kSidrRep;

  SidrRequestId request_id{};
  CmSidrStatus status{};
  uint8_t info_length{};  // valid bytes of `info`
  QpNumber qp{};
  ServiceId service_id{};
  QKey q_key{};
  PrivateData<72> info{};  // a ClassPortInfo, if the request is redirected
  PrivateData<136> private_data{};

  // nullopt if there are too few bytes, or if a field has a reserved value.
  [[nodiscard]] static std::optional<CmSidrRep> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const CmSidrRep&, const CmSidrRep&) = default;
};

[[nodiscard]] std::string ToString(const CmSidrRep& message);

}  // namespace verbena::wire
