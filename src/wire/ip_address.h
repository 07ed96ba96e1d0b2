#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "verbena/strong_id.h"

namespace verbena::wire {

using Ipv4Address = StrongId<struct Ipv4AddressTag, uint32_t>;

// An IPv6 address, or an IPv4 address in the form ::ffff:a.b.c.d (RFC 4291 §2.5.5.2). This is what
// a GID of RoCEv2 is (IBA A17.4.5). A value type.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};

  [[nodiscard]] static constexpr IpAddress FromIpv4(Ipv4Address address) {
    const uint32_t v = address.value();
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, static_cast<uint8_t>(v >> 24),
             static_cast<uint8_t>(v >> 16), static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v)}};
  }

  // nullopt for an IPv6 address.
  [[nodiscard]] constexpr std::optional<Ipv4Address> ipv4() const {
    const uint32_t v = uint32_t{bytes[12]} << 24 | uint32_t{bytes[13]} << 16 |
                       uint32_t{bytes[14]} << 8 | bytes[15];
    if (*this != FromIpv4(Ipv4Address(v))) return std::nullopt;
    return Ipv4Address(v);
  }

  // As two words: it is asked for every packet, and of arrays the compiler makes a call.
  friend constexpr bool operator==(const IpAddress& a, const IpAddress& b) {
    using Words = std::array<uint64_t, 2>;
    const auto x = std::bit_cast<Words>(a), y = std::bit_cast<Words>(b);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
  }
};

// "10.0.0.1"
[[nodiscard]] std::string ToString(Ipv4Address address);

// As IPv4 if it is one; else all eight groups, none left out: "fd00:0:0:0:0:0:0:1".
[[nodiscard]] std::string ToString(const IpAddress& address);

}  // namespace verbena::wire
