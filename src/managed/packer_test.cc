#include "managed/packer.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::managed {
namespace {

constexpr size_t kSize = 4096;
constexpr size_t kRoom = kSize / 4 * 3;

std::vector<std::byte> Noise(uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> bytes(kSize);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next32());
  return bytes;
}

std::vector<std::byte> Text() {
  std::vector<std::byte> bytes(kSize);
  for (size_t i = 0; i < kSize; ++i) bytes[i] = static_cast<std::byte>(i / 64);
  return bytes;
}

TEST(Crc32c, IsTheCastagnoliPolynomial) {
  // RFC 3720 B.4: 32 bytes of zeros. The RFC's value is inverted at the end; ours is not.
  const std::array<std::byte, 32> zeros{};
  EXPECT_EQ(~Crc32c(zeros), 0x8A9136AAu);
}

TEST(IsZero, ChecksEachByte) {
  std::vector<std::byte> bytes(kSize);
  EXPECT_TRUE(IsZero(bytes));
  for (const size_t at : {size_t{0}, size_t{1}, kSize / 2, kSize - 1}) {
    bytes[at] = std::byte{1};
    EXPECT_FALSE(IsZero(bytes)) << at;
    bytes[at] = std::byte{0};
  }
}

TEST(Packer, UnpackRestoresTheContents) {
  Packer packer;
  const auto text = Text();
  std::vector<std::byte> room(kRoom), back(kSize);
  const auto packed = packer.Pack(text, room);
  ASSERT_EQ(packed.as, StoredAs::kCompressed);
  ASSERT_LT(packed.bytes, kRoom);
  ASSERT_TRUE(Unpack(std::span(room).first(packed.bytes), back));
  EXPECT_EQ(back, text);
}

TEST(Packer, ZerosTakeNoBytes) {
  Packer packer;
  std::vector<std::byte> room(kRoom);
  const auto packed = packer.Pack(std::vector<std::byte>(kSize), room);
  EXPECT_EQ(packed.as, StoredAs::kZero);
  EXPECT_EQ(packed.bytes, 0u);
}

TEST(Packer, StoresRandomDataAndDataWithoutRoomRaw) {
  Packer packer;
  std::vector<std::byte> room(kRoom);
  EXPECT_EQ(packer.Pack(Noise(1), room).as, StoredAs::kRaw);
  EXPECT_EQ(packer.Pack(Noise(1), room).bytes, kSize);
  Packer fresh;
  EXPECT_EQ(fresh.Pack(Text(), {}).as, StoredAs::kRaw);
}

TEST(Packer, BacksOffAfterFailures) {
  Packer packer;
  std::vector<std::byte> room(kRoom);
  const auto noise = Noise(2);
  const auto text = Text();
  EXPECT_EQ(packer.Pack(noise, room).as, StoredAs::kRaw);
  EXPECT_EQ(packer.Pack(text, room).as, StoredAs::kRaw) << "one is not tried";
  EXPECT_EQ(packer.Pack(noise, room).as, StoredAs::kRaw);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(packer.Pack(text, room).as, StoredAs::kRaw) << i;
  EXPECT_EQ(packer.Pack(text, room).as, StoredAs::kCompressed) << "tried again, and it pays";
  EXPECT_EQ(packer.Pack(text, room).as, StoredAs::kCompressed);
}

TEST(Packer, TriesAgainAfterTheLongestBackOff) {
  Packer packer;
  std::vector<std::byte> room(kRoom);
  const auto noise = Noise(3);
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(packer.Pack(noise, room).as, StoredAs::kRaw);
  const auto text = Text();
  int tries = 1;
  while (packer.Pack(text, room).as != StoredAs::kCompressed) ++tries;
  EXPECT_LE(tries, 256);
}

TEST(Unpack, RefusesCorruptData) {
  std::vector<std::byte> contents(kSize);
  EXPECT_FALSE(Unpack(Noise(4), contents));
  EXPECT_FALSE(Unpack({}, contents));
}

}  // namespace
}  // namespace verbena::managed
