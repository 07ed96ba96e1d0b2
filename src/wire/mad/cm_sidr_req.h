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

// SIDR_REQ: queries the queue pair of a datagram service (IBA 12.11.1).
//
//   byte[bit] bits  field
//        0     32  request_id
//        4     16  p_key
//        8     64  service_id
//       16   1728  private_data
//
// Byte offsets are relative to the end of the MAD header; bit 0 is the highest. A value type.
struct CmSidrReq {
  static constexpr std::size_t kSize = kCmMessageSize;
  static constexpr CmAttribute kAttribute = CmAttribute::kSidrReq;

  SidrRequestId request_id{};
  PKey p_key{};
  ServiceId service_id{};
  PrivateData<216> private_data{};

  // nullopt if there are too few bytes.
  [[nodiscard]] static std::optional<CmSidrReq> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const CmSidrReq&, const CmSidrReq&) = default;
};

[[nodiscard]] std::string ToString(const CmSidrReq& message);

}  // namespace verbena::wire
