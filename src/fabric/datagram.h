#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/address.h"

namespace verbena::fabric {

// Source and destination of a datagram. A value type.
struct Route {
  IpAddress from;  // an address of this machine
  UdpAddress to;
  // Index of the outgoing interface: 0, so that the routing table decides, unless an address is
  // link-local.
  uint32_t interface = 0;
  uint8_t traffic_class = 0;  // of IPv6; of IPv4: the type of service
  uint8_t hop_limit = 0;      // 0: the default of the system
  // The kernel chooses `from` by itself: see UsualSource. Passing it would only cost time.
  bool from_is_usual = false;
  // Is sent alone, and not as a segment of a longer message, because the path loses segments.
  bool single = false;

  friend constexpr bool operator==(const Route&, const Route&) = default;
};

// A received datagram: a view, valid as long as its source says.
struct ReceivedDatagram {
  UdpAddress from;
  IpAddress to;            // unspecified unless requested: see UdpFabric::ReportHeaders
  uint32_t interface = 0;  // incoming; 0 within a process, or if not requested
  uint8_t traffic_class = 0;
  // The number of datagrams before it in the message that the kernel coalesced. The sender's kernel
  // numbers the IPv4 identifications in the same way, so this is the first value to try when the
  // ICRC is checked. It can be wrong: a message may begin in the middle of a burst.
  uint8_t segment = 0;
  std::span<const std::byte> bytes;
};

// Room for a datagram to be sent.
struct Reservation {
  std::span<std::byte> bytes;
  // The identification that the IPv4 header will have, which the ICRC covers.
  uint16_t ip_id = 0;
};

}  // namespace verbena::fabric
