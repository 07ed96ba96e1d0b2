#include "transport/iwarp/send_buffer.h"

#include <cstring>
#include <deque>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::transport {
namespace {

bool Add(SendBuffer& buffer, size_t size, uint8_t value) {
  const auto room = buffer.Reserve(size);
  if (room.empty()) return false;
  std::memset(room.data(), value, size);
  buffer.Commit(size);
  return true;
}

size_t SizeOf(const SendBuffer& buffer, size_t piece) { return buffer.bytes().at(piece).size(); }

TEST(SendBufferTest, HasRoomUpToItsCapacity) {
  SendBuffer buffer(100);
  EXPECT_TRUE(Add(buffer, 60, 1));
  EXPECT_FALSE(Add(buffer, 41, 2));
  EXPECT_TRUE(Add(buffer, 40, 2));
  EXPECT_TRUE(buffer.Reserve(1).empty());
  EXPECT_EQ(buffer.size(), 100);
}

TEST(SendBufferTest, AFrameIsNotSplitAtTheEnd) {
  SendBuffer buffer(100);
  ASSERT_TRUE(Add(buffer, 80, 1));
  buffer.Consume(50);
  ASSERT_TRUE(Add(buffer, 30, 2));  // not in the 20 bytes at the end
  EXPECT_EQ(SizeOf(buffer, 0), 30);
  EXPECT_EQ(SizeOf(buffer, 1), 30);
  EXPECT_FALSE(Add(buffer, 21, 3));
  EXPECT_TRUE(Add(buffer, 20, 3));
}

TEST(SendBufferTest, WhatIsReservedButNotCommittedIsNotAdded) {
  SendBuffer buffer(100);
  ASSERT_TRUE(Add(buffer, 80, 1));
  buffer.Consume(50);
  ASSERT_FALSE(buffer.Reserve(30).empty());
  ASSERT_TRUE(Add(buffer, 10, 2));  // still fits at the end
  EXPECT_EQ(SizeOf(buffer, 0), 40);
  EXPECT_EQ(SizeOf(buffer, 1), 0);
}

TEST(SendBufferTest, IsAllFreeOnceItIsEmpty) {
  SendBuffer buffer(100);
  ASSERT_TRUE(Add(buffer, 80, 1));
  buffer.Consume(80);
  EXPECT_TRUE(buffer.empty());
  EXPECT_TRUE(Add(buffer, 100, 2));
  buffer.Clear();
  EXPECT_TRUE(Add(buffer, 100, 3));
}

TEST(SendBufferTest, YieldsTheBytesInOrderWhateverIsAddedAndTaken) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    SendBuffer buffer(200);
    std::deque<std::byte> expected;
    uint8_t next = 0;
    for (int i = 0; i < 500; ++i) {
      const size_t size = 1 + random.Below(60);
      if (Add(buffer, size, ++next)) expected.insert(expected.end(), size, std::byte{next});
      const size_t taken = random.Below(buffer.size() + 1);
      std::deque<std::byte> seen;
      for (const auto piece : buffer.bytes()) seen.insert(seen.end(), piece.begin(), piece.end());
      ASSERT_EQ(seen, expected);
      buffer.Consume(taken);
      expected.erase(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(taken));
      ASSERT_TRUE(buffer.IsConsistent());
    }
  }
}

TEST(SendBufferDeathTest, RefusesToTakeMoreThanThereIs) {
  SendBuffer buffer(10);
  EXPECT_DEATH(buffer.Consume(1), "CHECK failed");
}

}  // namespace
}  // namespace verbena::transport
