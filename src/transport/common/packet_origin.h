#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "verbena/ip_address.h"

namespace verbena::transport {

// What the IP and UDP headers said of a packet that has arrived: the program that gets it answers
// by it. A value type.
struct PacketOrigin {
  IpAddress source = {};
  IpAddress destination = {};
  uint16_t source_port = 0;
  uint8_t traffic_class = 0;  // of IPv4, the type of service
  uint8_t hop_limit = 0;      // of IPv4, the time to live
  uint32_t flow_label = 0;    // of IPv6 only

  [[nodiscard]] bool is_ipv4() const { return source.ipv4() && destination.ipv4(); }
};

// The bytes that precede each datagram in its receive buffer.
inline constexpr size_t kGrhSize = 40;
using GrhBytes = std::array<std::byte, kGrhSize>;

// For a RoCE packet of `packet_size` bytes, ICRC included. The IPv6 header; or, as IBA A17
// has it, the IPv4 header in the last 20 bytes, and zeros before it.
[[nodiscard]] GrhBytes GrhOf(const PacketOrigin& origin, size_t packet_size);

// What the completion has in place of a service level, which RoCE has not: which kind of header
// those 40 bytes are (IBA A17.4.5.1), in the code of the adapters that programs know. The low three
// bits are 1 for IPv6 and 2 for IPv4; the fourth says that a UDP header followed.
[[nodiscard]] uint8_t NetworkHeaderOf(const PacketOrigin& origin);

}  // namespace verbena::transport
