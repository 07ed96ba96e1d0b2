#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/address.h"

namespace verbena::fabric {

// Where a datagram comes from and goes to. A value type.
struct Route {
  IpAddress from;  // one of this machine
  UdpAddress to;
  // Index of the interface to leave by: 0, for the routing table to decide, unless an address is
  // link-local.
  uint32_t interface = 0;
  uint8_t traffic_class = 0;  // of IPv6; the type of service of IPv4
  uint8_t hop_limit = 0;      // 0 for that of the system
  // `from` is what the kernel takes by itself: see UsualSource. To name it would only cost time.
  bool from_is_usual = false;
  // Is sent as it is, and not as a segment of a message that the kernel cuts: the path loses those.
  bool single = false;

  friend constexpr bool operator==(const Route&, const Route&) = default;
};

// A datagram that has arrived: a view, valid as long as its source says.
struct ReceivedDatagram {
  UdpAddress from;
  IpAddress to;            // unspecified if it was not asked for: see UdpFabric::ReportHeaders
  uint32_t interface = 0;  // it came in by; 0 within a process, or if it was not asked for
  uint8_t traffic_class = 0;
  // How many datagrams of the same burst the kernel handed over in front of it, in one piece. The
  // sender's kernel numbers the identifications of IPv4 in this way; so it is what to try first
  // when the ICRC is checked, though not certain: a piece may begin in the middle of a burst.
  uint8_t segment = 0;
  std::span<const std::byte> bytes;
};

// A place to write a datagram that is to be sent.
struct Reservation {
  std::span<std::byte> bytes;
  // The identification that the datagram's IPv4 header will have, which the ICRC covers.
  uint16_t ip_id = 0;
};

}  // namespace verbena::fabric
