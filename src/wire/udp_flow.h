#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "verbena/ip_address.h"
#include "wire/ip_header.h"
#include "wire/udp_header.h"

namespace verbena::wire {

// The IP and UDP headers of one datagram. A value type.
class IpUdpHeaders {
 public:
  static constexpr std::size_t kMaxSize = kIpHeaderMax + UdpHeader::kSize;

  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  friend struct UdpFlow;

  std::array<std::byte, kMaxSize> bytes_;  // the first size_ of them
  std::size_t size_ = 0;
};

// Source and destination of datagrams. Both addresses are of one family; IPv4 addresses are in
// mapped form. A value type.
struct UdpFlow {
  IpAddress source{};
  IpAddress destination{};
  uint16_t source_port = 0;
  uint16_t destination_port = 0;

  // The headers before `payload_size` bytes. Other fields are those of a UDP socket that never
  // fragments: DF, no checksum.
  [[nodiscard]] IpUdpHeaders HeadersFor(std::size_t payload_size, const IpFields& ip = {}) const;

  friend bool operator==(const UdpFlow&, const UdpFlow&) = default;
};

// "10.0.0.1 port 49152 -> 10.0.0.2 port 4791"
[[nodiscard]] std::string ToString(const UdpFlow& flow);

}  // namespace verbena::wire
