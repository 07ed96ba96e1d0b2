#include "transport/rc/waiting_packet.h"

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

TEST(WaitingPacketTest, IsACopy) {
  WaitingPacket held;
  EXPECT_FALSE(held.packet().has_value());
  std::vector<std::byte> bytes = BytesOf(7);
  held.Hold(*wire::Packet::Parse(bytes));
  bytes.assign(bytes.size(), std::byte{});
  EXPECT_EQ(held.packet()->bth().psn, Psn(7));
  held.Drop();
  EXPECT_FALSE(held.packet().has_value());
}

TEST(WaitingPacketTest, AnotherPacketReplacesItButNotItself) {
  WaitingPacket held;
  held.Hold(*wire::Packet::Parse(BytesOf(7)));
  held.Hold(*held.packet());
  EXPECT_EQ(held.packet()->bth().psn, Psn(7));
  held.Hold(*wire::Packet::Parse(BytesOf(8)));
  EXPECT_EQ(held.packet()->bth().psn, Psn(8));
}

}  // namespace
}  // namespace verbena::transport
