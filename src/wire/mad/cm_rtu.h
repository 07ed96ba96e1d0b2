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

// RTU: the requester is ready to use the connection (IBA 12.6.9).
//
//   byte[bit] bits  field
//        0     32  local_comm_id
//        4     32  remote_comm_id
//        8   1792  private_data
//
// Byte offsets are relative to the end of the MAD header; bit 0 is the highest. A value type.
struct CmRtu {
  static constexpr std::size_t kSize = kCmMessageSize;
  static constexpr CmAttribute kAttribute = CmAttribute::kRtu;

  CommId local_comm_id{};   // of the sender
  CommId remote_comm_id{};  // of the receiver
  PrivateData<224> private_data{};

  // nullopt if there are too few bytes.
  [[nodiscard]] static std::optional<CmRtu> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const CmRtu&, const CmRtu&) = default;
};

[[nodiscard]] std::string ToString(const CmRtu& message);

}  // namespace verbena::wire
