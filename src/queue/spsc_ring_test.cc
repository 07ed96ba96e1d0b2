#include "queue/spsc_ring.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::queue {
namespace {

TEST(SpscRingTest, AgreesWithADeque) {
  Random random(1);
  for (size_t capacity = 1; capacity < 10; ++capacity) {
    SpscRing<uint64_t> ring(capacity);
    std::deque<uint64_t> model;
    for (uint64_t step = 0; step < 500; ++step) {
      if (random.Chance(1, 2) && model.size() < capacity) {
        ring.Push(step);
        model.push_back(step);
      } else if (model.empty()) {
        EXPECT_EQ(ring.Pop(), std::nullopt);
      } else {
        EXPECT_EQ(ring.Pop(), model.front());
        model.pop_front();
      }
      ASSERT_EQ(ring.size(), model.size());
      for (size_t i = 0; i < model.size(); ++i) ASSERT_EQ(ring.Peek(i), model[i]);
    }
  }
}

TEST(SpscRingDeathTest, PushIntoAFullRing) {
  SpscRing<int> ring(2);
  ring.Push(1);
  ring.Push(2);
  EXPECT_DEATH(ring.Push(3), "CHECK failed");
}

TEST(SpscRingThreads, HandsOverInOrder) {
  constexpr uint64_t kCount = 50'000;
  SpscRing<uint64_t> ring(8);
  std::thread pusher([&ring] {
    for (uint64_t i = 0; i < kCount;) {
      if (ring.size() == 8) {
        std::this_thread::yield();
      } else {
        ring.Push(i++);
      }
    }
  });
  for (uint64_t expected = 0; expected < kCount;) {
    if (const std::optional<uint64_t> value = ring.Pop()) {
      ASSERT_EQ(*value, expected++);
    } else {
      std::this_thread::yield();
    }
  }
  pusher.join();
  EXPECT_EQ(ring.size(), 0u);
}

}  // namespace
}  // namespace verbena::queue
