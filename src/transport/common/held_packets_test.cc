#include "transport/common/held_packets.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

// A packet in the middle of a write, with this many bytes of payload.
std::vector<std::byte> BytesOf(uint8_t psn, size_t payload = 0) {
  std::vector<std::byte> bytes(16 + payload);
  bytes[0] = std::byte{0x27};
  bytes[11] = std::byte{psn};
  return bytes;
}

bool HoldOne(HeldPackets& held, uint8_t psn, size_t payload = 0) {
  const std::vector<std::byte> bytes = BytesOf(psn, payload);
  return held.Hold(*wire::Packet::Parse(bytes));
}

TEST(HeldPacketsTest, HoldsCopiesInOrder) {
  HeldPackets held;
  EXPECT_TRUE(held.empty());
  EXPECT_TRUE(HoldOne(held, 7));
  EXPECT_TRUE(HoldOne(held, 3, 100));
  EXPECT_EQ(held.oldest().bth().psn, Psn(7));
  held.DropOldest();
  EXPECT_EQ(held.oldest().bth().psn, Psn(3));
  EXPECT_EQ(held.oldest().payload().size(), 100u);
  held.DropOldest();
  EXPECT_TRUE(held.empty());
}

TEST(HeldPacketsTest, MemoryIsBounded) {
  constexpr size_t kPayload = 4096;
  HeldPackets held;
  size_t count = 0;
  while (HoldOne(held, 1, kPayload)) ++count;
  EXPECT_EQ(count, HeldPackets::kBytesMax / (kPayload + 16));
  EXPECT_TRUE(held.IsConsistent());
  held.DropOldest();
  EXPECT_TRUE(HoldOne(held, 2, kPayload));
  EXPECT_FALSE(HoldOne(held, 2, kPayload));
  held.Clear();
  EXPECT_TRUE(held.empty());
  EXPECT_TRUE(HoldOne(held, 2, kPayload));
  EXPECT_TRUE(held.IsConsistent());
}

TEST(HeldPacketsTest, EmptyPacketsAreBoundedByTheirNumber) {
  HeldPackets held;
  size_t count = 0;
  while (count <= HeldPackets::kPacketsMax && HoldOne(held, 1)) ++count;
  EXPECT_EQ(count, HeldPackets::kPacketsMax);
  EXPECT_TRUE(held.IsConsistent());
}

}  // namespace
}  // namespace verbena::transport
