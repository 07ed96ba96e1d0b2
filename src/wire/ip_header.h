#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "verbena/ip_address.h"
#include "wire/ip_protocol.h"
#include "wire/ipv6_header.h"

namespace verbena::wire {

// The fields of an IP header that a sender may choose, besides the addresses. A value type.
struct IpFields {
  uint16_t identification = 0;  // of IPv4
  uint8_t traffic_class = 0;    // the type of service of IPv4
  uint8_t hop_limit = 64;
};

inline constexpr std::size_t kIpHeaderMax = Ipv6Header::kSize;

// Writes the IPv4 or IPv6 header in front of `length` bytes, and returns its size. What is not said
// is as a socket sends it that never fragments: DF. REQUIRES: the addresses are of one family.
std::size_t WriteIpHeader(const IpAddress& source, const IpAddress& destination,
                          IpProtocol protocol, std::size_t length, const IpFields& ip,
                          std::span<std::byte> bytes);

}  // namespace verbena::wire
