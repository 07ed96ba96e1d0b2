#pragma once

#include <cstdint>
#include <optional>

namespace verbena::wire {

// What an IP header is in front of: RoCEv2 is on UDP, iWARP on TCP.
enum class IpProtocol : uint8_t { kTcp = 6, kUdp = 17 };

// nullopt for the others.
[[nodiscard]] constexpr std::optional<IpProtocol> IpProtocolOf(uint8_t number) {
  const auto protocol = static_cast<IpProtocol>(number);
  if (protocol != IpProtocol::kTcp && protocol != IpProtocol::kUdp) return std::nullopt;
  return protocol;
}

}  // namespace verbena::wire
