#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "verbena/ip_address.h"

namespace verbena::transport {

// The fields of the IP and UDP headers of a packet that has arrived. A program that receives it
// uses them to answer. A value type.
struct PacketOrigin {
  IpAddress source = {};
  IpAddress destination = {};
  uint16_t source_port = 0;
  uint8_t traffic_class = 0;  // type of service in IPv4
  uint8_t hop_limit = 0;      // time to live in IPv4
  uint32_t flow_label = 0;    // in IPv6 only

  [[nodiscard]] bool is_ipv4() const { return source.ipv4() && destination.ipv4(); }
};

// The bytes before the payload of each datagram in its receive buffer.
inline constexpr size_t kGrhSize = 40;
using GrhBytes = std::array<std::byte, kGrhSize>;

// For a RoCE packet of `packet_size` bytes, ICRC included. The IPv6 header; or, by IBA A17.4.5.2,
// zeros and then the IPv4 header in the last 20 bytes.
[[nodiscard]] GrhBytes GrhOf(const PacketOrigin& origin, size_t packet_size);

// The completion has this value in place of a service level, which RoCE does not have: the kind of
// header in those 40 bytes (IBA A17.4.5.1), encoded as existing adapters encode it. The low three
// bits are 1 for IPv6 and 2 for IPv4; the fourth bit says that a UDP header followed.
[[nodiscard]] uint8_t NetworkHeaderOf(const PacketOrigin& origin);

}  // namespace verbena::transport
