#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace verbena {

// An address of a port: an IPv6 address, or an IPv4 address as ::ffff:a.b.c.d. A value type.
struct Gid {
  std::array<uint8_t, 16> bytes{};

  friend bool operator==(const Gid&, const Gid&) = default;
};

// "10.0.0.1", "fd00::1", or "::ffff:10.0.0.1" for the first again.
[[nodiscard]] std::optional<Gid> ParseGid(std::string_view text);
[[nodiscard]] std::string ToString(const Gid& gid);  // "10.0.0.1"

// An entry of the GID table: an address of this machine, and the interface that has it.
struct GidEntry {
  Gid gid;
  std::string interface_name;
  uint32_t interface_index = 0;
  uint32_t mtu = 0;  // of the interface, in bytes
  bool up = false;
  bool loopback = false;
};

// Which way packets go. Both addresses are of one kind, IPv4 or IPv6.
struct AddressVector {
  Gid source = {};  // one of this machine
  Gid destination = {};
  uint32_t interface = 0;  // to leave by; 0 unless an address is link-local
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 64;  // 0: the system's own

  friend bool operator==(const AddressVector&, const AddressVector&) = default;
};

// The largest payload of a packet, as the code of the verbs.
enum class PathMtu : uint8_t { k256 = 1, k512, k1024, k2048, k4096 };

[[nodiscard]] constexpr uint32_t BytesOf(PathMtu mtu) { return 128U << static_cast<unsigned>(mtu); }

}  // namespace verbena
