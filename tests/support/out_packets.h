#pragma once

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "transport/common/packet_bytes.h"

namespace verbena::transport {

// A packet of a machine that is tested alone, as its adapter writes it. Its payload is there.
inline std::vector<std::byte> BytesOf(const OutPacket& packet) {
  std::vector<std::byte> bytes(WireSizeOf(packet));
  EXPECT_FALSE(WritePacket(packet, bytes).has_value());
  return bytes;
}

}  // namespace verbena::transport
