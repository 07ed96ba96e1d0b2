#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "verbena/ip_address.h"
#include "wire/mad/cm_types.h"
#include "wire/roce/timer_codes.h"

namespace verbena::wire {

// A path of a connection, from the view of the sender of a message. It takes 44 bytes in REQ and in
// LAP, of which the last 8 are arranged differently:
//
//   byte[bit] bits  field              LAP
//        0     16  local_lid
//        2     16  remote_lid
//        4    128  local_gid
//       20    128  remote_gid
//       36     20  flow_label
//    39[2]      6  packet_rate         41[2]
//       40      8  traffic_class       39
//       41      8  hop_limit           40
//    42[0]      4  sl
//    42[4]      1  subnet_local
//    43[0]      5  ack_timeout
//
// A value type.
struct CmPath {
  static constexpr std::size_t kSize = 44;

  Lid local_lid{};
  Lid remote_lid{};
  IpAddress local_gid{};
  IpAddress remote_gid{};
  uint32_t flow_label = 0;  // 20 bits
  uint8_t packet_rate = 0;  // 6 bits
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 0;
  uint8_t sl = 0;  // 4 bits
  bool subnet_local = false;
  AckTimeout ack_timeout{};  // of the sender's requests

  // REQUIRES: kSize bytes. All values are valid.
  [[nodiscard]] static CmPath ParseReq(std::span<const std::byte> bytes);
  [[nodiscard]] static CmPath ParseLap(std::span<const std::byte> bytes);
  // Writes reserved bits as zero.
  void SerializeReq(std::span<std::byte> bytes) const;
  void SerializeLap(std::span<std::byte> bytes) const;

  friend bool operator==(const CmPath&, const CmPath&) = default;
};

}  // namespace verbena::wire
