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

// REP: accepts a connection (IBA 12.6.8).
//
//   byte[bit] bits  field
//        0     32  local_comm_id
//        4     32  remote_comm_id
//        8     32  local_q_key
//       12     24  local_qp
//       15      8  vendor_id, high
//       16     24  local_eecn
//       19      8  vendor_id, middle
//       20     24  starting_psn
//       23      8  vendor_id, low
//       24      8  responder_resources
//       25      8  initiator_depth
//    26[0]      5  target_ack_delay
//    26[5]      2  failover
//    26[7]      1  flow_control
//    27[0]      3  rnr_retry_count
//    27[3]      1  srq
//       28     64  local_ca_guid
//       36   1568  private_data
//
// Bytes count from the end of the MAD header, bits from the highest. A value type.
struct CmRep {
  static constexpr std::size_t kSize = kCmMessageSize;
  static constexpr CmAttribute kAttribute = CmAttribute::kRep;

  CommId local_comm_id{};   // the sender's
  CommId remote_comm_id{};  // the receiver's
  QKey local_q_key{};       // reliable datagram
  QpNumber local_qp{};
  CmEce ece{};
  EeContext local_eecn{};
  Psn starting_psn{};
  uint8_t responder_resources{};
  uint8_t initiator_depth{};
  CmTimeout target_ack_delay{};
  uint8_t failover{};  // 0: the alternate path is accepted
  bool flow_control{};
  uint8_t rnr_retry_count{};
  bool srq{};
  CaGuid local_ca_guid{};
  PrivateData<196> private_data{};

  // nullopt if there are too few bytes.
  [[nodiscard]] static std::optional<CmRep> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const CmRep&, const CmRep&) = default;
};

[[nodiscard]] std::string ToString(const CmRep& message);

}  // namespace verbena::wire
