#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "queue/completion_queue.h"

namespace verbena::queue {
namespace {

using Wanted = CompletionQueue::Wanted;

// A completion with its id in several fields, so that a torn copy shows.
Completion Make(uint64_t id) {
  return {.id = WrId(id),
          .qp = QpNumber(static_cast<uint32_t>(id)),
          .byte_count = static_cast<uint32_t>(id),
          .tag_context = static_cast<uint32_t>(id)};
}

bool IsWhole(const Completion& completion) {
  const auto low = static_cast<uint32_t>(completion.id.value());
  return completion.qp == QpNumber(low) && completion.byte_count == low &&
         completion.tag_context == low;
}

// Polls until the queue is empty and calls `fn` for each entry.
template <class Fn>
void Drain(CompletionQueue& queue, bool in_place, Fn fn) {
  if (in_place) {
    const Completion* entry = queue.StartPoll().value();
    if (entry == nullptr) return;
    for (; entry != nullptr; entry = queue.NextPoll()) fn(*entry);
    return queue.EndPoll();
  }
  std::array<Completion, 4> batch;
  while (const size_t count = queue.Poll(batch).value()) {
    for (size_t i = 0; i < count; ++i) fn(batch[i]);
  }
}

TEST(CompletionQueueThreads, EachCompletionReachesOnePoller) {
  constexpr uint64_t kCount = 20'000;
  constexpr size_t kPollers = 3;
  CompletionQueue queue(16);
  std::vector<std::atomic<uint8_t>> seen(kCount);
  std::atomic<uint64_t> polled = 0;
  std::atomic<uint64_t> bad = 0;
  std::vector<std::thread> pollers;
  for (size_t poller = 0; poller < kPollers; ++poller) {
    pollers.emplace_back([&, poller] {
      uint64_t last = 0;
      while (polled < kCount) {
        Drain(queue, poller == 0, [&](const Completion& completion) {
          const uint64_t id = completion.id.value();
          if (!IsWhole(completion) || id < last) ++bad;
          last = id;
          ++seen[id];
          ++polled;
        });
        std::this_thread::yield();
      }
    });
  }
  for (uint64_t id = 0; id < kCount;) {
    if (queue.size() == queue.capacity()) {
      std::this_thread::yield();
      continue;
    }
    if (id % 1'000 == 0) {
      const bool grows = id % 2'000 == 0;
      const auto resized = queue.Resize(grows ? 32 : 16);
      // Shrinking may have found more than 16 entries; pollers may have taken them since.
      EXPECT_TRUE(resized || (!grows && resized.error() == CqError::kTooSmall));
    }
    // A queue pair without entries: RemoveQp must not lose those of others.
    if (id % 1'000 == 500) {
      EXPECT_EQ(queue.RemoveQp(QpNumber(UINT32_MAX)), 0u);
    }
    if (queue.size() < queue.capacity()) {
      EXPECT_EQ(queue.Push(Make(id++), false, Time()).status, CompletionQueue::PushStatus::kStored);
    }
  }
  for (std::thread& poller : pollers) poller.join();
  EXPECT_EQ(bad, 0u);
  for (const auto& count : seen) ASSERT_EQ(count, 1);
  EXPECT_TRUE(queue.IsConsistent());
}

// A completion channel as programs see it: counts events, and lets a thread wait for one.
class Channel {
 public:
  void Raise() {
    const std::lock_guard lock(mutex_);
    ++events_;
    raised_.notify_one();
  }
  // False if no event comes for so long that it must have been lost.
  bool Wait() {
    std::unique_lock lock(mutex_);
    if (!raised_.wait_for(lock, std::chrono::seconds(20), [this] { return events_ > 0; })) {
      return false;
    }
    --events_;
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable raised_;
  int events_ = 0;
};

// The engine pushes a completion only after the previous one was polled. So no later completion
// wakes up the program if a wake-up is lost.
TEST(CompletionQueueThreads, NoWakeUpIsLost) {
  constexpr uint64_t kCount = 30'000;
  CompletionQueue queue(4);
  Channel channel;
  std::atomic<uint64_t> polled = 0;
  std::atomic<bool> stop = false;
  std::thread engine([&] {
    for (uint64_t id = 0; id < kCount && !stop; ++id) {
      while (polled != id && !stop) std::this_thread::yield();
      if (queue.Push(Make(id), false, Time()).event_now) channel.Raise();
    }
  });

  uint64_t sleeps = 0;
  const auto count = [&polled](const Completion&) { ++polled; };
  while (polled < kCount) {
    // Arm, poll once more, and only then sleep.
    queue.Arm(Wanted::kAll);
    const uint64_t before = polled;
    Drain(queue, false, count);
    if (polled != before) continue;
    ++sleeps;
    if (!channel.Wait()) {
      ADD_FAILURE() << "asleep with " << queue.size() << " completions in the queue";
      break;
    }
    Drain(queue, false, count);
  }
  stop = true;
  engine.join();
  EXPECT_EQ(polled, kCount);
  EXPECT_GT(sleeps, 0u);
}

// Pushes and arms race. However they interleave, there are never more events than calls of Arm.
TEST(CompletionQueueThreads, NoMoreEventsThanRequests) {
  constexpr uint64_t kCount = 20'000;
  CompletionQueue queue(4);
  std::atomic<uint64_t> arms = 0;
  std::atomic<bool> stop = false;
  std::thread program([&] {
    while (!stop) {
      ++arms;
      queue.Arm(arms % 2 == 0 ? Wanted::kAll : Wanted::kSolicited);
      Drain(queue, false, [](const Completion&) {});
      std::this_thread::yield();
    }
  });
  uint64_t events = 0;
  for (uint64_t id = 0; id < kCount;) {
    if (queue.size() == queue.capacity()) {
      std::this_thread::yield();
      continue;
    }
    if (queue.Push(Make(id), id % 2 == 0, Time()).event_now) ++events;
    ++id;
    ASSERT_LE(events, arms);
  }
  stop = true;
  program.join();
  EXPECT_GT(events, 0u);
}

}  // namespace
}  // namespace verbena::queue
