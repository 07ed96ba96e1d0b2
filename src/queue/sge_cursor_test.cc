#include "queue/sge_cursor.h"

#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::queue {
namespace {

Sge Piece(uint64_t address, uint32_t length, uint32_t key) {
  return {.address = address, .length = length, .key = Key(key)};
}

TEST(SgeCursorTest, AnEmptyListHasNoBytes) {
  SgeCursor cursor;
  EXPECT_EQ(cursor.Next(1), std::nullopt);
  cursor.Seek(0);
  EXPECT_EQ(cursor.offset(), 0u);
  EXPECT_TRUE(cursor.IsConsistent());
}

TEST(SgeCursorTest, CrossesElementBorders) {
  const std::vector<Sge> list = {Piece(1000, 10, 1), Piece(2000, 5, 2)};
  SgeCursor cursor(list);
  EXPECT_EQ(cursor.Next(4), Piece(1000, 4, 1));
  EXPECT_EQ(cursor.Next(100), Piece(1004, 6, 1));
  EXPECT_EQ(cursor.offset(), 10u);
  EXPECT_EQ(cursor.Next(0), std::nullopt);
  EXPECT_EQ(cursor.Next(100), Piece(2000, 5, 2));
  EXPECT_EQ(cursor.Next(1), std::nullopt);
  EXPECT_EQ(cursor.offset(), 15u);
}

TEST(SgeCursorTest, SkipsEmptyElements) {
  const std::vector<Sge> list = {Piece(1, 0, 1), Piece(100, 2, 2), Piece(2, 0, 3),
                                 Piece(3, 0, 4), Piece(200, 1, 5), Piece(4, 0, 6)};
  SgeCursor cursor(list);
  EXPECT_EQ(cursor.Next(9), Piece(100, 2, 2));
  EXPECT_EQ(cursor.Next(9), Piece(200, 1, 5));
  EXPECT_EQ(cursor.Next(9), std::nullopt);
  cursor.Seek(1);
  EXPECT_EQ(cursor.Next(9), Piece(101, 1, 2));
}

TEST(SgeCursorTest, LongestElements) {
  constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
  const std::vector<Sge> list = {Piece(0, kMax, 1), Piece(uint64_t{1} << 40, kMax, 2)};
  SgeCursor cursor(list);
  cursor.Seek(uint64_t{kMax} + 1);
  EXPECT_EQ(cursor.Next(std::numeric_limits<uint64_t>::max()),
            Piece((uint64_t{1} << 40) + 1, kMax - 1, 2));
  EXPECT_EQ(cursor.offset(), 2 * uint64_t{kMax});
}

TEST(SgeCursorTest, AddressesMayWrap) {
  const std::vector<Sge> list = {Piece(std::numeric_limits<uint64_t>::max(), 3, 1)};
  SgeCursor cursor(list);
  EXPECT_EQ(cursor.Next(1), Piece(std::numeric_limits<uint64_t>::max(), 1, 1));
  EXPECT_EQ(cursor.Next(9), Piece(0, 2, 1));
}

TEST(SgeCursorDeathTest, SeekingBeyondTheEnd) {
  const std::vector<Sge> list = {Piece(0, 3, 1)};
  SgeCursor cursor(list);
  cursor.Seek(3);
  EXPECT_DEATH(cursor.Seek(4), "CHECK failed");
}

// The model records the position of each byte of the message.
struct ModelByte {
  uint64_t address;
  Key key;
};

TEST(SgeCursorPropertyTest, AgreesWithAListOfBytes) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<Sge> list;
    std::vector<ModelByte> model;
    for (uint64_t i = random.Below(6); i > 0; --i) {
      const Sge sge =
          Piece(random.Next64(), static_cast<uint32_t>(random.Below(9)), random.Next32());
      for (uint32_t b = 0; b < sge.length; ++b) model.push_back({sge.address + b, sge.key});
      list.push_back(sge);
    }
    SgeCursor cursor(list);
    uint64_t at = 0;
    for (int step = 0; step < 60; ++step) {
      if (random.Chance(1, 3)) {
        at = random.Between(0, model.size());
        cursor.Seek(at);
      }
      const uint64_t max = random.Below(12);
      const std::optional<Sge> piece = cursor.Next(max);
      ASSERT_EQ(piece.has_value(), max > 0 && at < model.size());
      if (piece) {
        ASSERT_GE(piece->length, 1u);
        ASSERT_LE(piece->length, max);
        for (uint32_t b = 0; b < piece->length; ++b, ++at) {
          ASSERT_EQ(piece->address + b, model[at].address);
          ASSERT_EQ(piece->key, model[at].key);
        }
      }
      ASSERT_EQ(cursor.offset(), at);
      ASSERT_TRUE(cursor.IsConsistent());
    }
  }
}

}  // namespace
}  // namespace verbena::queue
