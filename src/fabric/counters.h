#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "verbena/counters.h"

namespace verbena::fabric {

// Counters of transmission. A value type.
struct TransmitCounters {
  uint64_t datagrams = 0;
  uint64_t bytes = 0;
  uint64_t messages = 0;  // groups of datagrams that the kernel took as one
  uint64_t system_calls = 0;
  uint64_t blocked = 0;  // flushes that the kernel had no room for
  std::array<uint64_t, kSendDrops> dropped{};

  [[nodiscard]] uint64_t dropped_for(SendDrop reason) const {
    return dropped[static_cast<size_t>(reason)];
  }

  TransmitCounters& operator+=(const TransmitCounters& other) {
    datagrams += other.datagrams;
    bytes += other.bytes;
    messages += other.messages;
    system_calls += other.system_calls;
    blocked += other.blocked;
    for (size_t i = 0; i < kSendDrops; ++i) dropped[i] += other.dropped[i];
    return *this;
  }
};

// Counters of reception. A value type.
struct ReceiveCounters {
  uint64_t datagrams = 0;
  uint64_t bytes = 0;
  uint64_t messages = 0;  // groups of datagrams that the kernel handed over as one
  uint64_t system_calls = 0;
  uint64_t malformed = 0;     // longer than any RoCE packet, or without a destination; dropped
  uint64_t kernel_drops = 0;  // messages, mostly because the receive buffer was full

  ReceiveCounters& operator+=(const ReceiveCounters& other) {
    datagrams += other.datagrams;
    bytes += other.bytes;
    messages += other.messages;
    system_calls += other.system_calls;
    malformed += other.malformed;
    kernel_drops += other.kernel_drops;
    return *this;
  }
};

}  // namespace verbena::fabric
