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

// REQ: asks for a connection (IBA 12.6.5).
//
//   byte[bit] bits  field
//        0     32  local_comm_id
//        5     24  vendor_id
//        8     64  service_id
//       16     64  local_ca_guid
//       28     32  local_q_key
//       32     24  local_qp
//       35      8  responder_resources
//       36     24  local_eecn
//       39      8  initiator_depth
//       40     24  remote_eecn
//    43[0]      5  remote_response_timeout
//    43[5]      2  service_type
//    43[7]      1  flow_control
//       44     24  starting_psn
//    47[0]      5  local_response_timeout
//    47[5]      3  retry_count
//       48     16  p_key
//    50[0]      4  path_mtu
//    50[4]      1  rdc_exists
//    50[5]      3  rnr_retry_count
//    51[0]      4  max_cm_retries
//    51[4]      1  srq
//    51[5]      3  extended_transport
//       52    352  primary
//       96    352  alternate
//      140    736  private_data
//
// Bytes count from the end of the MAD header, bits from the highest. A value type.
struct CmReq {
  static constexpr std::size_t kSize = kCmMessageSize;
  static constexpr CmAttribute kAttribute = CmAttribute::kReq;

  CommId local_comm_id{};  // the sender's
  CmEce ece{};
  ServiceId service_id{};
  CaGuid local_ca_guid{};
  QKey local_q_key{};  // reliable datagram
  QpNumber local_qp{};
  uint8_t responder_resources{};
  EeContext local_eecn{};
  uint8_t initiator_depth{};
  EeContext remote_eecn{};
  CmTimeout remote_response_timeout{};  // that the sender gives the receiver
  CmServiceType service_type{};
  bool flow_control{};
  Psn starting_psn{};
  CmTimeout local_response_timeout{};  // that the sender needs itself
  uint8_t retry_count{};
  PKey p_key{};
  CmMtu path_mtu{};
  bool rdc_exists{};
  uint8_t rnr_retry_count{};
  uint8_t max_cm_retries{};
  bool srq{};
  uint8_t extended_transport{};  // 1: XRC
  CmPath primary{};
  CmPath alternate{};  // all zeros: none
  PrivateData<92> private_data{};

  // nullopt if there are too few bytes.
  [[nodiscard]] static std::optional<CmReq> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const CmReq&, const CmReq&) = default;
};

[[nodiscard]] std::string ToString(const CmReq& message);

}  // namespace verbena::wire
