#include "transport/kept_packets.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

// A write of this many bytes in the middle of its message.
std::vector<std::byte> BytesOf(uint8_t psn, size_t payload = 0) {
  std::vector<std::byte> bytes(16 + payload);
  bytes[0] = std::byte{0x27};
  bytes[11] = std::byte{psn};
  return bytes;
}

bool KeepOne(KeptPackets& kept, uint8_t psn, size_t payload = 0) {
  const std::vector<std::byte> bytes = BytesOf(psn, payload);
  return kept.Keep(*wire::Packet::Parse(bytes));
}

TEST(KeptPacketsTest, AreCopiesInOrder) {
  KeptPackets kept;
  EXPECT_TRUE(kept.empty());
  EXPECT_TRUE(KeepOne(kept, 7));
  EXPECT_TRUE(KeepOne(kept, 3, 100));
  EXPECT_EQ(kept.oldest().bth().psn, wire::Psn(7));
  kept.DropOldest();
  EXPECT_EQ(kept.oldest().bth().psn, wire::Psn(3));
  EXPECT_EQ(kept.oldest().payload().size(), 100u);
  kept.DropOldest();
  EXPECT_TRUE(kept.empty());
}

TEST(KeptPacketsTest, TakeBoundedMemory) {
  constexpr size_t kPayload = 4096;
  KeptPackets kept;
  size_t count = 0;
  while (KeepOne(kept, 1, kPayload)) ++count;
  EXPECT_EQ(count, KeptPackets::kBytesMax / (kPayload + 16));
  EXPECT_TRUE(kept.IsConsistent());
  kept.DropOldest();
  EXPECT_TRUE(KeepOne(kept, 2, kPayload));
  EXPECT_FALSE(KeepOne(kept, 2, kPayload));
  kept.Clear();
  EXPECT_TRUE(kept.empty());
  EXPECT_TRUE(KeepOne(kept, 2, kPayload));
  EXPECT_TRUE(kept.IsConsistent());
}

TEST(KeptPacketsTest, EmptyOnesAreBoundedByTheirNumber) {
  KeptPackets kept;
  size_t count = 0;
  while (count <= KeptPackets::kPacketsMax && KeepOne(kept, 1)) ++count;
  EXPECT_EQ(count, KeptPackets::kPacketsMax);
  EXPECT_TRUE(kept.IsConsistent());
}

}  // namespace
}  // namespace verbena::transport
