#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "verbena/ip_address.h"
#include "wire/ip_protocol.h"

namespace verbena::wire {

// IPv6 header (RFC 8200 §3) without extension headers. The GRH of InfiniBand (IBA 8.3) differs only
// in the next header.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |   6   | Traffic Class |              Flow Label               |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |        Payload Length         |   Protocol    |   Hop Limit   |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                   Source Address (16 bytes)                   |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                 Destination Address (16 bytes)                |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// A value type.
struct Ipv6Header {
  static constexpr std::size_t kSize = 40;

  uint8_t traffic_class = 0;
  uint32_t flow_label = 0;  // 20 bits
  uint16_t payload_length = 0;
  IpProtocol protocol = IpProtocol::kUdp;
  uint8_t hop_limit = 64;
  IpAddress source{};
  IpAddress destination{};

  [[nodiscard]] static std::optional<Ipv6Header> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const Ipv6Header&, const Ipv6Header&) = default;
};

[[nodiscard]] std::string ToString(const Ipv6Header& header);

}  // namespace verbena::wire
