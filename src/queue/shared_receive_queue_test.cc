#include "queue/shared_receive_queue.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::queue {
namespace {

using Handle = SharedReceiveQueue::Handle;
using Taken = SharedReceiveQueue::Taken;

// The list depends on the id, so that a mix-up shows.
Result<void, PostError> Post(SharedReceiveQueue& queue, uint64_t id) {
  const std::array<Sge, 1> sges = {Sge{.address = ~id, .length = 3, .key = Key(1)}};
  return queue.Post({{WrId(id)}, sges});
}

bool Holds(Handle handle, uint64_t id) {
  return handle.wqe().id == WrId(id) && handle.sges().size() == 1 &&
         handle.sges()[0].address == ~id && handle.length() == 3;
}

TEST(SharedReceiveQueueTest, TakesInOrderAndGivesInAnyOrder) {
  SharedReceiveQueue queue(3, 1);
  EXPECT_FALSE(queue.Take().has_value());
  for (uint64_t id = 0; id < 3; ++id) ASSERT_TRUE(Post(queue, id));
  EXPECT_EQ(Post(queue, 3).error(), PostReason::kQueueFull);
  const Handle a = queue.Take()->handle;
  const Handle b = queue.Take()->handle;
  EXPECT_TRUE(Holds(a, 0) && Holds(b, 1));
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(Post(queue, 3).error(), PostReason::kQueueFull);  // taken elements count
  queue.Give(b);
  EXPECT_TRUE(Post(queue, 3));
  EXPECT_EQ(Post(queue, 4).error(), PostReason::kQueueFull);
  EXPECT_TRUE(Holds(a, 0));
  EXPECT_TRUE(Holds(queue.Take()->handle, 2));
  EXPECT_TRUE(Holds(queue.Take()->handle, 3));
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(SharedReceiveQueueTest, NumbersContinueAfterTakesAndGrowth) {
  SharedReceiveQueue queue(3, 1);
  uint64_t posted = 0;
  for (const uint32_t capacity : {3u, 5u, 9u}) {
    ASSERT_TRUE(queue.Resize(capacity).has_value());
    while (Post(queue, posted)) ++posted;
    queue.Give(queue.Take()->handle);
    EXPECT_EQ(queue.end().value(), posted);
    EXPECT_EQ(queue.end().value() - queue.begin().value(), queue.size());
    for (WqeNumber n = queue.begin(); n < queue.end(); n = Next(n)) {
      EXPECT_EQ(queue.SgesAt(n)[0].address, ~n.value());
    }
  }
}

TEST(SharedReceiveQueueTest, RefusesLongLists) {
  SharedReceiveQueue queue(3, 1);
  const std::array<Sge, 2> sges{};
  EXPECT_EQ(queue.Post({{WrId(1)}, sges}).error(), PostReason::kTooManySges);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(SharedReceiveQueueTest, LimitIsReportedOnce) {
  SharedReceiveQueue queue(8, 1);
  for (uint64_t id = 0; id < 6; ++id) ASSERT_TRUE(Post(queue, id));
  queue.SetLimit(4);
  EXPECT_FALSE(queue.Take()->limit_reached);  // 5 left
  EXPECT_FALSE(queue.Take()->limit_reached);  // 4 left: not below
  EXPECT_EQ(queue.limit(), 4u);
  EXPECT_TRUE(queue.Take()->limit_reached);
  EXPECT_EQ(queue.limit(), 0u);
  EXPECT_FALSE(queue.Take()->limit_reached);
  queue.SetLimit(8);  // more than are posted: the next one raises it
  EXPECT_TRUE(queue.Take()->limit_reached);
  EXPECT_FALSE(queue.Take()->limit_reached);
}

TEST(SharedReceiveQueueTest, LimitIsNotArmedAtFirstNorByZero) {
  SharedReceiveQueue queue(2, 1);
  ASSERT_TRUE(Post(queue, 1));
  EXPECT_FALSE(queue.Take()->limit_reached);
  queue.SetLimit(2);
  queue.SetLimit(0);
  ASSERT_TRUE(Post(queue, 2));
  EXPECT_FALSE(queue.Take()->limit_reached);
}

TEST(SharedReceiveQueueTest, GrowsWithElementsInUse) {
  SharedReceiveQueue queue(2, 1);
  ASSERT_TRUE(Post(queue, 0) && Post(queue, 1));
  const Handle taken = queue.Take()->handle;
  const Sge* const where = taken.sges().data();
  ASSERT_TRUE(queue.Resize(5));
  EXPECT_EQ(queue.capacity(), 5u);
  EXPECT_EQ(taken.sges().data(), where);
  EXPECT_TRUE(Holds(taken, 0));
  for (uint64_t id = 2; id < 5; ++id) EXPECT_TRUE(Post(queue, id));
  EXPECT_EQ(Post(queue, 5).error(), PostReason::kQueueFull);
  for (uint64_t id = 1; id < 5; ++id) EXPECT_TRUE(Holds(queue.Take()->handle, id));
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(SharedReceiveQueueTest, ShrinksToTheElementsInUse) {
  SharedReceiveQueue queue(8, 1);
  for (uint64_t id = 0; id < 3; ++id) ASSERT_TRUE(Post(queue, id));
  const Handle taken = queue.Take()->handle;
  EXPECT_EQ(queue.Resize(2).error(), SharedReceiveQueue::ResizeError::kTooSmall);
  EXPECT_EQ(queue.capacity(), 8u);
  ASSERT_TRUE(queue.Resize(3));
  EXPECT_EQ(Post(queue, 3).error(), PostReason::kQueueFull);
  queue.Give(taken);
  EXPECT_TRUE(Post(queue, 3));
  EXPECT_EQ(Post(queue, 4).error(), PostReason::kQueueFull);
  ASSERT_TRUE(queue.Resize(4));
  EXPECT_TRUE(Post(queue, 4));
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(SharedReceiveQueueTest, AnEmptyQueueCanGrow) {
  SharedReceiveQueue queue(0, 1);
  EXPECT_EQ(Post(queue, 0).error(), PostReason::kQueueFull);
  ASSERT_TRUE(queue.Resize(1));
  EXPECT_TRUE(Post(queue, 0));
}

// Runs queue and model side by side.
class Comparison {
 public:
  explicit Comparison(uint64_t seed) : random_(seed), queue_(4, 1) {}

  void Step() {
    switch (random_.Below(8)) {
      case 0:
        return Resize(static_cast<uint32_t>(random_.Below(12)));
      case 1:
        limit_ = static_cast<uint32_t>(random_.Below(6));
        return queue_.SetLimit(limit_);
      case 2:
      case 3:
        return Take();
      case 4:
        return Give();
      default:
        return Post();
    }
  }

  void Check() {
    ASSERT_EQ(queue_.size(), posted_.size());
    ASSERT_EQ(queue_.capacity(), capacity_);
    ASSERT_EQ(queue_.limit(), limit_);
    for (const auto& [handle, id] : taken_) ASSERT_TRUE(Holds(handle, id));
    ASSERT_TRUE(queue_.IsConsistent());
  }

 private:
  struct Held {
    Handle handle;
    uint64_t id;
  };

  size_t used() const { return posted_.size() + taken_.size(); }

  void Post() {
    const bool fits = used() < capacity_;
    ASSERT_EQ(queue::Post(queue_, next_id_).has_value(), fits);
    if (fits) posted_.push_back(next_id_);
    ++next_id_;
  }

  void Take() {
    const std::optional<Taken> taken = queue_.Take();
    ASSERT_EQ(taken.has_value(), !posted_.empty());
    if (!taken) return;
    taken_.push_back({taken->handle, posted_.front()});
    posted_.pop_front();
    const bool reached = posted_.size() < limit_;
    ASSERT_EQ(taken->limit_reached, reached);
    if (reached) limit_ = 0;
  }

  void Give() {
    if (taken_.empty()) return;
    random_.Shuffle(taken_);
    queue_.Give(taken_.back().handle);
    taken_.pop_back();
  }

  void Resize(uint32_t capacity) {
    ASSERT_EQ(queue_.Resize(capacity).has_value(), capacity >= used());
    if (capacity >= used()) capacity_ = capacity;
  }

  Random random_;
  SharedReceiveQueue queue_;
  std::deque<uint64_t> posted_;
  std::vector<Held> taken_;
  uint32_t capacity_ = 4;
  uint32_t limit_ = 0;
  uint64_t next_id_ = 0;
};

TEST(SharedReceiveQueuePropertyTest, AgreesWithLists) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Comparison comparison(seed);
    for (int step = 0; step < 500; ++step) {
      comparison.Step();
      comparison.Check();
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SharedReceiveQueueThreads, ManyPostersOneEngine) {
  constexpr uint64_t kPosters = 3;
  constexpr uint64_t kEach = 8'000;
  SharedReceiveQueue queue(16, 1);
  std::vector<std::thread> posters;
  for (uint64_t poster = 0; poster < kPosters; ++poster) {
    posters.emplace_back([&queue, poster] {
      for (uint64_t i = 0; i < kEach;) {
        if (Post(queue, poster << 32 | i)) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  Random random(1);
  std::array<uint64_t, kPosters> next{};
  std::vector<Handle> held;
  uint64_t bad = 0;
  for (uint64_t done = 0; done < kPosters * kEach;) {
    const std::optional<Taken> taken = queue.Take();
    if (taken) {
      const uint64_t id = taken->handle.wqe().id.value();
      if (static_cast<uint32_t>(id) != next[id >> 32]++ || !Holds(taken->handle, id)) ++bad;
      held.push_back(taken->handle);
      ++done;
    }
    // Some are held for a while, and given back in random order.
    if (held.size() > 5 || !taken) {
      random.Shuffle(held);
      for (const Handle handle : held) queue.Give(handle);
      held.clear();
    }
    if (!taken) std::this_thread::yield();
  }
  for (std::thread& poster : posters) poster.join();
  EXPECT_EQ(bad, 0u);
  EXPECT_TRUE(queue.IsConsistent());
}

TEST(SharedReceiveQueueThreads, ResizeWhilePosting) {
  SharedReceiveQueue queue(2, 1);
  std::atomic<bool> stop = false;
  std::thread poster([&queue, &stop] {
    for (uint64_t id = 0; !stop;) {
      if (Post(queue, id)) {
        ++id;
      } else {
        std::this_thread::yield();
      }
    }
  });
  uint64_t expected = 0;
  for (uint32_t round = 0; expected < 1'500; ++round) {
    if (!queue.Resize(2 + round % 40)) {
      std::this_thread::yield();  // too many elements in use to shrink
    }
    while (const std::optional<Taken> taken = queue.Take()) {
      EXPECT_TRUE(Holds(taken->handle, expected++));
      queue.Give(taken->handle);
    }
  }
  stop = true;
  poster.join();
}

}  // namespace
}  // namespace verbena::queue
