#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "transport/cm/cm_peer.h"
#include "wire/mad/cm_types.h"

namespace verbena::transport {

// A number from a peer: a communication id, a QP number or a SIDR request id. A value type.
struct RemoteKey {
  CmPeer peer{};
  wire::CaGuid guid{};
  uint32_t number = 0;

  friend bool operator==(const RemoteKey&, const RemoteKey&) = default;
};

// Peers choose the keys: the multiplications spread numbers that differ in few bits.
struct RemoteKeyHash {
  [[nodiscard]] std::size_t operator()(const RemoteKey& key) const {
    const auto words = std::bit_cast<std::array<uint64_t, 2>>(key.peer.address.bytes);
    uint64_t hash = key.number;
    for (const uint64_t word : {words[0], words[1], key.guid.value() ^ key.peer.gsi.value()}) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

}  // namespace verbena::transport
