#include "transport/rc/kept_packet.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

// An acknowledgement with some sequence number: 20 bytes.
std::vector<std::byte> BytesOf(uint8_t psn) {
  std::vector<std::byte> bytes(20);
  bytes[0] = std::byte{0x11};
  bytes[11] = std::byte{psn};
  return bytes;
}

TEST(KeptPacketTest, IsACopy) {
  KeptPacket kept;
  EXPECT_FALSE(kept.packet().has_value());
  std::vector<std::byte> bytes = BytesOf(7);
  kept.Keep(*wire::Packet::Parse(bytes));
  bytes.assign(bytes.size(), std::byte{});
  EXPECT_EQ(kept.packet()->bth().psn, wire::Psn(7));
  kept.Drop();
  EXPECT_FALSE(kept.packet().has_value());
}

TEST(KeptPacketTest, AnotherOneTakesItsPlaceAndItselfDoesNot) {
  KeptPacket kept;
  kept.Keep(*wire::Packet::Parse(BytesOf(7)));
  kept.Keep(*kept.packet());
  EXPECT_EQ(kept.packet()->bth().psn, wire::Psn(7));
  kept.Keep(*wire::Packet::Parse(BytesOf(8)));
  EXPECT_EQ(kept.packet()->bth().psn, wire::Psn(8));
}

}  // namespace
}  // namespace verbena::transport
