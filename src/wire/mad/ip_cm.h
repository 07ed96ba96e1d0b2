#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "verbena/cm_event.h"
#include "verbena/ip_address.h"
#include "wire/mad/cm_types.h"

namespace verbena::wire {

// Connections by IP address and port (IBA annex A11, the RDMA IP CM service): the service id
// contains the port, and the addresses precede the private data of REQ and SIDR_REQ.

// The last byte of the prefix is an IP protocol number: the port space.
using IpCmProtocol = PortSpace;

struct IpCmService {
  IpCmProtocol protocol{};
  uint16_t port = 0;

  friend bool operator==(const IpCmService&, const IpCmService&) = default;
};

//   |  0x0000000001 (40 bits)  |  protocol (8)  |  destination port (16)  |
[[nodiscard]] ServiceId ServiceIdOf(const IpCmService& service);
// nullopt if the service id has another prefix.
[[nodiscard]] std::optional<IpCmService> IpCmServiceOf(ServiceId id);

//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   | MajV  | MinV  |  IPV  |  Rsv  |          Source Port          |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                   Source IP Address (128 bits)                |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//   |                Destination IP Address (128 bits)              |
//   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//
// An IPv4 address is preceded by zeros. A value type.
struct IpCmHeader {
  static constexpr std::size_t kSize = 36;
  static constexpr uint8_t kMajorVersion = 0;

  uint8_t minor_version = 0;  // 4 bits
  uint16_t source_port = 0;
  IpAddress source{};  // both IPv4, or neither
  IpAddress destination{};

  // nullopt if there are too few bytes, if the major version is another one, if the IP version is
  // neither 4 nor 6, or if it is 6 and an address is an IPv4-mapped one.
  [[nodiscard]] static std::optional<IpCmHeader> Parse(std::span<const std::byte> bytes);
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const IpCmHeader&, const IpCmHeader&) = default;
};

[[nodiscard]] std::string ToString(const IpCmHeader& header);

}  // namespace verbena::wire
