#pragma once

#include <cstdint>

namespace verbena {

// What a device speaks on the network.
enum class TransportType : uint8_t {
  kRoce,       // RoCEv2: all types of queue pairs, over UDP
  kIwarp,      // MPA, DDP and RDMAP over TCP: queue pairs of type RC, connected by CmId
  kIwarpSctp,  // the same by DDP and RDMAP over SCTP, in UDP
};

[[nodiscard]] constexpr bool IsIwarp(TransportType type) { return type != TransportType::kRoce; }

}  // namespace verbena
