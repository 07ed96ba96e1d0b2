#include "fabric/sctp/sctp_checksum.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

TEST(SctpChecksumTest, IsACrc32cInTheOrderOfALittleEndianWord) {
  // The CRC-32C of 32 zeros, which RFC 3720, B.4, has.
  std::array<std::byte, 32> zeros{};
  SealSctp(zeros);
  EXPECT_EQ(zeros[8], std::byte{0xAA});
  EXPECT_EQ(zeros[9], std::byte{0x36});
  EXPECT_EQ(zeros[10], std::byte{0x91});
  EXPECT_EQ(zeros[11], std::byte{0x8A});
}

TEST(SctpChecksumTest, EveryBitCounts) {
  std::vector<std::byte> packet(40, std::byte{7});
  SealSctp(packet);
  const auto good = packet;
  EXPECT_TRUE(OpenSctp(packet));
  EXPECT_EQ(packet[8], std::byte{0});
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    packet = good;
    packet[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(OpenSctp(packet)) << bit;
  }
}

}  // namespace
}  // namespace verbena::fabric
