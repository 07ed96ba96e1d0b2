#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "verbena/ip_address.h"

namespace verbena {

// An address of a port.
using Gid = IpAddress;

[[nodiscard]] inline std::optional<Gid> ParseGid(std::string_view text) {
  return ParseIpAddress(text);
}

// An entry of the GID table: an address of this machine, and the interface that has it.
struct GidEntry {
  Gid gid;
  std::string interface_name;
  uint32_t interface_index = 0;
  uint32_t mtu = 0;  // of the interface, in bytes
  bool up = false;
  bool loopback = false;
};

// The path of packets. Both addresses are of one family, IPv4 or IPv6.
struct AddressVector {
  Gid source = {};  // an address of this machine
  Gid destination = {};
  uint32_t interface = 0;  // outgoing; 0 unless an address is link-local
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 64;  // 0: the default of the system

  friend bool operator==(const AddressVector&, const AddressVector&) = default;
};

// The largest payload of a packet, as the code of the verbs.
enum class PathMtu : uint8_t { k256 = 1, k512, k1024, k2048, k4096 };

[[nodiscard]] constexpr uint32_t BytesOf(PathMtu mtu) { return 128U << static_cast<unsigned>(mtu); }

}  // namespace verbena
