#pragma once

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "transport/common/packet_bytes.h"

namespace verbena::transport {

// The bytes that the adapter would write for a packet of a state machine that is tested alone.
// REQUIRES: the pages of the payload are present.
inline std::vector<std::byte> BytesOf(const OutPacket& packet) {
  std::vector<std::byte> bytes(WireSizeOf(packet));
  EXPECT_FALSE(WritePacket(packet, bytes).has_value());
  return bytes;
}

}  // namespace verbena::transport
