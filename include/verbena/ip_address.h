#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "verbena/strong_id.h"

namespace verbena {

using Ipv4Address = StrongId<struct Ipv4AddressTag, uint32_t>;

// An IPv6 address, or an IPv4 address in the form ::ffff:a.b.c.d (RFC 4291 §2.5.5.2). A GID of
// RoCEv2 has this form (IBA A17.4.1.1). The zone of a link-local address is not part of it. A value
// type.
struct IpAddress {
  static constexpr size_t kIpv4Offset = 12;  // of an IPv4 address in `bytes`

  std::array<uint8_t, 16> bytes{};

  [[nodiscard]] static constexpr IpAddress FromIpv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d}};
  }
  [[nodiscard]] static constexpr IpAddress FromIpv4(Ipv4Address address) {
    const uint32_t v = address.value();
    return FromIpv4(static_cast<uint8_t>(v >> 24), static_cast<uint8_t>(v >> 16),
                    static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v));
  }
  [[nodiscard]] static constexpr IpAddress Ipv6Loopback() {
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  }

  // nullopt for an IPv6 address.
  [[nodiscard]] constexpr std::optional<Ipv4Address> ipv4() const {
    const Ipv4Address last(uint32_t{bytes[12]} << 24 | uint32_t{bytes[13]} << 16 |
                           uint32_t{bytes[14]} << 8 | bytes[15]);
    if (*this != FromIpv4(last)) return std::nullopt;
    return last;
  }
  [[nodiscard]] constexpr bool is_ipv4() const { return ipv4().has_value(); }
  [[nodiscard]] constexpr bool is_unspecified() const { return *this == IpAddress{}; }
  [[nodiscard]] constexpr bool is_loopback() const {
    return is_ipv4() ? bytes[12] == 127 : *this == Ipv6Loopback();
  }
  // Valid on one link only.
  [[nodiscard]] constexpr bool is_link_local() const {
    if (is_ipv4()) return bytes[12] == 169 && bytes[13] == 254;
    return bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
  }
  [[nodiscard]] constexpr bool is_multicast() const {
    return is_ipv4() ? (bytes[12] & 0xF0) == 0xE0 : bytes[0] == 0xFF;
  }

  // Compared as two words: it is compared for every packet, and compilers make a call for arrays.
  friend constexpr bool operator==(const IpAddress& a, const IpAddress& b) {
    using Words = std::array<uint64_t, 2>;
    const auto x = std::bit_cast<Words>(a), y = std::bit_cast<Words>(b);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
  }
  friend constexpr auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// "10.0.0.1", "fd00::1", or "::ffff:10.0.0.1" for the first again; without a zone.
[[nodiscard]] std::optional<IpAddress> ParseIpAddress(std::string_view text);

// The shortest form: "10.0.0.1", "fd00::1".
[[nodiscard]] std::string ToString(const IpAddress& address);

}  // namespace verbena
