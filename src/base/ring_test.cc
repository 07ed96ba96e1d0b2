#include "base/ring.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena {
namespace {

TEST(RingTest, FirstInFirstOut) {
  Ring<int> ring(3);
  EXPECT_TRUE(ring.TryPush(1));
  EXPECT_TRUE(ring.TryPush(2));
  EXPECT_EQ(ring.front(), 1);
  EXPECT_EQ(ring.TryPop(), 1);
  EXPECT_EQ(ring.TryPop(), 2);
  EXPECT_EQ(ring.TryPop(), std::nullopt);
}

TEST(RingTest, CapacityIsExact) {
  for (std::size_t capacity = 1; capacity <= 9; ++capacity) {
    Ring<std::size_t> ring(capacity);
    EXPECT_EQ(ring.capacity(), capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_FALSE(ring.full());
      EXPECT_TRUE(ring.TryPush(i));
    }
    EXPECT_TRUE(ring.full());
    EXPECT_FALSE(ring.TryPush(99));
    EXPECT_EQ(ring.size(), capacity);
    EXPECT_EQ(ring[capacity - 1], capacity - 1);
  }
}

TEST(RingTest, ElementsCanBeChangedInPlace) {
  Ring<int> ring(2);
  ASSERT_TRUE(ring.TryPush(1));
  ASSERT_TRUE(ring.TryPush(2));
  ring[1] = 20;
  ring.front() = 10;
  const Ring<int>& const_ring = ring;
  EXPECT_EQ(const_ring.front(), 10);
  EXPECT_EQ(const_ring[1], 20);
}

TEST(RingTest, DestroysDroppedElements) {
  const auto value = std::make_shared<int>(1);
  {
    Ring<std::shared_ptr<int>> ring(4);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.TryPush(value));
    EXPECT_FALSE(ring.TryPush(value));
    EXPECT_EQ(value.use_count(), 5);
    EXPECT_EQ(ring.TryPop(), value);
    EXPECT_EQ(value.use_count(), 4);
    ring.clear();
    EXPECT_EQ(value.use_count(), 1);
    EXPECT_TRUE(ring.empty());
    ASSERT_TRUE(ring.TryPush(value));
    EXPECT_EQ(value.use_count(), 2);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(RingTest, HoldsMoveOnlyValuesWithoutDefault) {
  struct Box {
    explicit Box(int n) : value(std::make_unique<int>(n)) {}
    std::unique_ptr<int> value;
  };
  Ring<Box> ring(2);
  ASSERT_TRUE(ring.TryPush(Box(5)));
  EXPECT_EQ(*ring.TryPop()->value, 5);
}

TEST(RingDeathTest, AccessToMissingElementsDies) {
  EXPECT_DEATH(Ring<int>(0), "CHECK failed");
  Ring<int> ring(4);
  EXPECT_DEATH(static_cast<void>(ring.front()), "CHECK failed");
  ASSERT_TRUE(ring.TryPush(1));
  EXPECT_DEATH(static_cast<void>(ring[1]), "CHECK failed");
}

TEST(RingTest, AgreesWithADeque) {
  Random random(3);
  for (const std::size_t capacity : {1u, 2u, 3u, 5u, 8u, 13u}) {
    SCOPED_TRACE(capacity);
    Ring<int> ring(capacity);
    std::deque<int> model;
    for (int i = 0; i < 3000; ++i) {
      if (random.Chance(1, 2)) {
        ASSERT_EQ(ring.TryPush(i), model.size() < capacity);
        if (model.size() < capacity) model.push_back(i);
      } else if (random.Chance(1, 50)) {
        ring.clear();
        model.clear();
      } else {
        const std::optional<int> popped = ring.TryPop();
        ASSERT_EQ(popped.has_value(), !model.empty());
        if (!popped) continue;
        ASSERT_EQ(*popped, model.front());
        model.pop_front();
      }
      ASSERT_EQ(ring.size(), model.size());
      ASSERT_EQ(ring.empty(), model.empty());
      ASSERT_EQ(ring.full(), model.size() == capacity);
      for (std::size_t j = 0; j < model.size(); ++j) ASSERT_EQ(ring[j], model[j]);
    }
  }
}

}  // namespace
}  // namespace verbena
