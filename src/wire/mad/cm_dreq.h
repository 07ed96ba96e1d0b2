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

// DREQ: ends a connection (IBA 12.6.10).
//
//   byte[bit] bits  field
//        0     32  local_comm_id
//        4     32  remote_comm_id
//        8     24  remote_qp
//       12   1760  private_data
//
// Byte offsets are relative to the end of the MAD header; bit 0 is the highest. A value type.
struct CmDreq {
  static constexpr std::size_t kSize = kCmMessageSize;
  static constexpr CmAttribute kAttribute = CmAttribute::kDreq;

  CommId local_comm_id{};   // of the sender
  CommId remote_comm_id{};  // of the receiver
  QpNumber remote_qp{};     // of the receiver
  PrivateData<220> private_data{};

  // nullopt if there are too few bytes.
  [[nodiscard]] static std::optional<CmDreq> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const CmDreq&, const CmDreq&) = default;
};

[[nodiscard]] std::string ToString(const CmDreq& message);

}  // namespace verbena::wire
