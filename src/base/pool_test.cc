#include "base/pool.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena {
namespace {

using Block = std::array<std::byte, 64>;

TEST(PoolTest, ConstructsWithArguments) {
  Pool<std::string> pool(10);
  std::string* const text = pool.New(3u, 'x');
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(*text, "xxx");
  EXPECT_EQ(pool.size(), 1u);
  pool.Delete(text);
  EXPECT_EQ(pool.size(), 0u);
}

TEST(PoolTest, StopsAtItsLimit) {
  Pool<int> pool(3);
  EXPECT_NE(pool.New(0), nullptr);
  int* const second = pool.New(1);
  EXPECT_NE(second, nullptr);
  EXPECT_NE(pool.New(2), nullptr);
  EXPECT_EQ(pool.New(3), nullptr);
  pool.Delete(second);
  EXPECT_NE(pool.New(4), nullptr);
  EXPECT_EQ(pool.New(5), nullptr);
  EXPECT_EQ(Pool<int>(0).New(1), nullptr);
}

TEST(PoolTest, HoldsNoMoreThanTheObjectsNeed) {
  for (const std::size_t limit : {1u, 10u, 1000u}) {
    Pool<Block> pool(limit);
    EXPECT_EQ(pool.bytes(), 0u);
    std::vector<Block*> objects(limit);
    for (Block*& object : objects) object = pool.New();
    EXPECT_EQ(pool.bytes(), limit * sizeof(Block));
    for (Block* const object : objects) pool.Delete(object);
    EXPECT_EQ(pool.bytes(), limit * sizeof(Block));
  }
}

TEST(PoolTest, ReusesBeforeItGrows) {
  Pool<Block> pool(1'000'000);
  pool.Delete(pool.New());
  const std::size_t bytes = pool.bytes();
  EXPECT_LE(bytes, 64u * 1024);
  for (int i = 0; i < 10'000; ++i) pool.Delete(pool.New());
  EXPECT_EQ(pool.bytes(), bytes);
}

TEST(PoolTest, ReusesTheLastDeleted) {
  Pool<Block> pool(10);
  Block* const a = pool.New();
  Block* const b = pool.New();
  pool.Delete(a);
  pool.Delete(b);
  EXPECT_EQ(pool.New(), b);
  EXPECT_EQ(pool.New(), a);
}

TEST(PoolTest, RespectsAlignment) {
  struct alignas(256) Aligned {
    char byte;
  };
  Pool<Aligned> pool(100);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.New()) % 256, 0u);
  }
}

TEST(PoolTest, HoldsObjectsSmallerThanAPointerAndLargerThanAChunk) {
  Pool<char> small(5000);
  std::set<char*> places;
  for (int i = 0; i < 5000; ++i) places.insert(small.New('x'));
  EXPECT_EQ(places.size(), 5000u);

  Pool<std::array<std::byte, 100'000>> large(2);
  EXPECT_NE(large.New(), nullptr);
  EXPECT_NE(large.New(), nullptr);
  EXPECT_EQ(large.New(), nullptr);
}

TEST(PoolTest, DestroysTheRemainingElements) {
  const auto value = std::make_shared<int>(1);
  {
    Pool<std::shared_ptr<int>> pool(5000);
    std::vector<std::shared_ptr<int>*> objects(3000);
    for (auto*& object : objects) object = pool.New(value);
    for (std::size_t i = 0; i < objects.size(); i += 3) pool.Delete(objects[i]);
    EXPECT_EQ(value.use_count(), 1 + 2000);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(PoolDeathTest, RefusesToDeleteFromAnEmptyPool) {
  Pool<int> pool(2);
  int* const object = pool.New(1);
  pool.Delete(object);
  EXPECT_DEATH(pool.Delete(object), "CHECK failed");
}

// Each object holds its own number: addresses must be distinct, stable and never handed out twice.
TEST(PoolTest, ObjectsKeepTheirContentsUnderChurn) {
  Random random(5);
  Pool<std::pair<uint64_t, std::string>> pool(2000);
  std::vector<std::pair<uint64_t, std::pair<uint64_t, std::string>*>> living;
  for (uint64_t i = 0; i < 20'000; ++i) {
    if (random.Chance(3, 5)) {
      auto* const object = pool.New(i, std::to_string(i));
      ASSERT_EQ(object == nullptr, living.size() == 2000);
      if (object != nullptr) living.emplace_back(i, object);
    } else if (!living.empty()) {
      std::swap(living[random.Below(living.size())], living.back());
      const auto [number, object] = living.back();
      ASSERT_EQ(object->first, number);
      ASSERT_EQ(object->second, std::to_string(number));
      pool.Delete(object);
      living.pop_back();
    }
    ASSERT_EQ(pool.size(), living.size());
  }
}

}  // namespace
}  // namespace verbena
