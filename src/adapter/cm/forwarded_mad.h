#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "verbena/ip_address.h"
#include "verbena/numbers.h"
#include "wire/mad/cm_types.h"
#include "wire/mad/ip_cm.h"

namespace verbena::adapter {

// A management datagram that arrived at the process with the RoCEv2 port, and is forwarded to the
// process that has the port of the requested service:
//
//   offset  bytes
//        0      4   "VBCM"
//        4      1   version: 1
//        5      1   protocol of the service
//        6      2   port of the service
//        8      2   UDP source port
//       10      2   zero
//       12      4   QP number of the sender, from the DETH
//       16     16   address of the sender
//       32     16   destination address
//       48    256   MAD
//
// Integers are big-endian, and IPv4 addresses are mapped. A value type.
struct ForwardedMad {
  static constexpr std::size_t kSize = 48 + wire::kMadSize;
  static constexpr uint32_t kMagic = 0x5642'434D;
  static constexpr uint8_t kVersion = 1;

  wire::IpCmService service{};
  IpAddress source{};
  IpAddress destination{};
  QpNumber source_qp{};
  uint16_t source_port = 0;
  std::array<std::byte, wire::kMadSize> mad{};

  // nullopt if the size, the magic, the version or the reserved bits are wrong.
  [[nodiscard]] static std::optional<ForwardedMad> Parse(std::span<const std::byte> bytes);
  // REQUIRES: kSize bytes.
  void Serialize(std::span<std::byte> bytes) const;

  friend bool operator==(const ForwardedMad&, const ForwardedMad&) = default;
};

}  // namespace verbena::adapter
