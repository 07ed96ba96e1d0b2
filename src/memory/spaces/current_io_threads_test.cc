// Threads that race on a CurrentIo.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "memory/spaces/current_io.h"

namespace verbena::memory {
namespace {

using BeginResult = CurrentIo::BeginResult;
using EndResult = CurrentIo::EndResult;
using InterestResult = CurrentIo::InterestResult;
using QuiesceResult = CurrentIo::QuiesceResult;
using ResumeResult = CurrentIo::ResumeResult;

// Two steps race again and again for a part of a second, each time on a word of the same value.
class CurrentIoPairThreads : public testing::Test {
 protected:
  static constexpr uint64_t kQuiescedWord = uint64_t{1} << 63;

  // `first` and `second` are steps on a CurrentIo; `check` gets what they returned.
  template <class First, class Second, class Check>
  void Race(uint64_t initial, First first, Second second, Check check) {
    using FirstResult = std::invoke_result_t<First, CurrentIo&>;
    std::atomic<uint64_t> started = 0, finished = 0;
    std::atomic<bool> time_is_up = false;
    // Set when no further round begins: the other thread would wait for it forever.
    std::atomic<bool> is_over = false;
    FirstResult first_result{};
    std::thread other([&] {
      for (uint64_t round = 1; Await(started, round, is_over); ++round) {
        Dawdle(round % 31);
        first_result = first(io_);
        finished.store(round, std::memory_order_release);
      }
    });
    const auto timer = std::async(std::launch::async, [&time_is_up] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      time_is_up = true;
    });
    const std::atomic<bool> never = false;
    for (uint64_t round = 1; !time_is_up && !HasFailure(); ++round) {
      word_ = initial;
      started.store(round, std::memory_order_release);
      Dawdle(round % 701);  // the other thread needs time to see the start
      const auto second_result = second(io_);
      Await(finished, round, never);
      check(first_result, second_result);
    }
    is_over = true;
    timer.wait();
    other.join();
  }

  // False if stopped before the step came.
  static bool Await(const std::atomic<uint64_t>& step, uint64_t round,
                    const std::atomic<bool>& is_over) {
    for (int i = 1; step.load(std::memory_order_acquire) != round; ++i) {
      if (i % 1000 != 0) continue;
      if (is_over) return step.load(std::memory_order_acquire) == round;
      std::this_thread::yield();
    }
    return true;
  }

  // The delay differs from round to round, so that each step comes first in some, and in some they
  // collide.
  void Dawdle(uint64_t loads) const {
    while (loads-- > 0) (void)word_.load(std::memory_order_relaxed);
  }

  CurrentIo::Word word_{0};
  CurrentIo io_{word_};
};

TEST_F(CurrentIoPairThreads, BeginAndQuiesce) {
  Race(
      0, [](CurrentIo& io) { return io.Begin(); }, [](CurrentIo& io) { return io.Quiesce(); },
      [this](BeginResult begin, QuiesceResult quiesce) {
        const bool started = begin == BeginResult::kStarted;
        EXPECT_EQ(quiesce, started ? QuiesceResult::kBusy : QuiesceResult::kIdle);
        EXPECT_EQ(word_, kQuiescedWord + (started ? 1 : 0));
      });
}

TEST_F(CurrentIoPairThreads, LastEndAndQuiesce) {
  Race(
      1, [](CurrentIo& io) { return io.End(); }, [](CurrentIo& io) { return io.Quiesce(); },
      [this](EndResult end, QuiesceResult quiesce) {
        const bool called = end == EndResult::kLastWhileQuiesced;
        EXPECT_EQ(quiesce, called ? QuiesceResult::kBusy : QuiesceResult::kIdle);
        EXPECT_TRUE(io_.IsIdle());
      });
}

TEST_F(CurrentIoPairThreads, EndAndEnd) {
  Race(
      kQuiescedWord + 2, [](CurrentIo& io) { return io.End(); },
      [](CurrentIo& io) { return io.End(); },
      [this](EndResult one, EndResult other) {
        EXPECT_NE(one, other);  // exactly one of them calls
        EXPECT_TRUE(io_.IsIdle());
      });
}

TEST_F(CurrentIoPairThreads, RegisterInterestAndResume) {
  Race(
      kQuiescedWord, [](CurrentIo& io) { return io.RegisterInterest(); },
      [](CurrentIo& io) { return io.Resume(); },
      [this](InterestResult interest, ResumeResult resume) {
        const bool registered = interest == InterestResult::kRegistered;
        EXPECT_EQ(resume, registered ? ResumeResult::kWakeConsumer : ResumeResult::kNoWaiter);
        EXPECT_EQ(word_, 0u);
      });
}

TEST_F(CurrentIoPairThreads, BeginAndResume) {
  Race(
      kQuiescedWord, [](CurrentIo& io) { return io.Begin(); },
      [](CurrentIo& io) { return io.Resume(); },
      [this](BeginResult begin, ResumeResult resume) {
        EXPECT_EQ(resume, ResumeResult::kNoWaiter);
        EXPECT_EQ(word_, begin == BeginResult::kStarted ? 1u : 0u);
      });
}

// A region, a consumer of two threads, and the hypervisor, which takes the memory and gives it back
// as often as it can in a second. The memory is made of ordinary variables, and all other accesses
// of the threads are relaxed, so that little but the word orders them: a race detector then reports
// an operation that meets a swap. Without a race detector, `in_flight_` and lost changes show it.
class CurrentIoThreads : public testing::Test {
 protected:
  static constexpr size_t kConsumers = 2;

  struct alignas(64) Consumer {
    uint64_t memory = 0;
    std::atomic<uint64_t> operations = 0;
  };

  enum class WhenQuiesced { kPoll, kRegisterInterest };

  // `hypervisor` returns soon after stopped(), with the region resumed.
  template <class Hypervisor>
  void Run(WhenQuiesced when_quiesced, Hypervisor hypervisor) {
    std::vector<std::future<void>> threads;
    for (Consumer& consumer : consumers_) {
      threads.push_back(std::async(std::launch::async, [this, &consumer, when_quiesced] {
        Consume(consumer, when_quiesced);
      }));
    }
    threads.push_back(std::async(std::launch::async, hypervisor));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    stop_ = true;
    for (const std::future<void>& thread : threads) {
      if (thread.wait_for(std::chrono::seconds(20)) == std::future_status::ready) continue;
      ADD_FAILURE() << "waits for a call or a wake-up that was lost";
      Call();
      Wake();
    }
    threads.clear();  // joins
    for (const Consumer& c : consumers_) EXPECT_EQ(c.memory, c.operations + swaps_);
    EXPECT_EQ(word_, 0u);
  }

  void Consume(Consumer& consumer, WhenQuiesced when_quiesced) {
    CurrentIo io(word_);
    while (!stopped()) {
      const uint64_t wakes = wakes_.load(std::memory_order_relaxed);
      if (io.Begin() == BeginResult::kStarted) {
        Operate(consumer);
        if (io.End() == EndResult::kLastWhileQuiesced) Call();
      } else if (when_quiesced == WhenQuiesced::kPoll) {
        std::this_thread::yield();
      } else if (io.RegisterInterest() == InterestResult::kRegistered) {
        wakes_.wait(wakes, std::memory_order_relaxed);
      }
    }
  }

  void Operate(Consumer& consumer) {
    in_flight_.fetch_add(1, std::memory_order_relaxed);
    ++consumer.memory;
    consumer.operations.fetch_add(1, std::memory_order_relaxed);
    in_flight_.fetch_sub(1, std::memory_order_relaxed);
  }

  // What the hypervisor does when it believes that the region is idle.
  void UseTheMemory() {
    for (Consumer& consumer : consumers_) ++consumer.memory;
    ++swaps_;
    for (int i = 0; i < 20; ++i) ASSERT_EQ(in_flight_.load(std::memory_order_relaxed), 0);
  }

  // The "memory region quiesced" call.
  void Call() {
    calls_.fetch_add(1, std::memory_order_relaxed);
    calls_.notify_all();
  }

  void Wake() {
    wakes_.fetch_add(1, std::memory_order_relaxed);
    wakes_.notify_all();
  }

  std::array<uint64_t, kConsumers> Operations() const {
    std::array<uint64_t, kConsumers> operations;
    for (size_t i = 0; i < kConsumers; ++i) {
      operations[i] = consumers_[i].operations.load(std::memory_order_relaxed);
    }
    return operations;
  }

  void AwaitOperationsOfAllBeyond(const std::array<uint64_t, kConsumers>& before) const {
    while (!std::ranges::equal(Operations(), before, std::greater<>()) && !stopped()) {
      std::this_thread::yield();
    }
  }

  bool stopped() const { return stop_.load(std::memory_order_relaxed); }

  CurrentIo::Word word_{0};
  std::array<Consumer, kConsumers> consumers_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> in_flight_ = 0;
  std::atomic<uint64_t> calls_ = 0;
  std::atomic<uint64_t> wakes_ = 0;
  uint64_t swaps_ = 0;
};

TEST_F(CurrentIoThreads, NoOperationMeetsASwap) {
  Run(WhenQuiesced::kPoll, [this] {
    CurrentIo io(word_);
    uint64_t busy = 0;
    while (!stopped() && !HasFailure()) {
      const QuiesceResult result = io.Quiesce();
      EXPECT_NE(result, QuiesceResult::kAlreadyQuiesced);
      if (result == QuiesceResult::kBusy) {
        calls_.wait(busy++, std::memory_order_relaxed);
        EXPECT_TRUE(io.IsIdle());
      }
      UseTheMemory();
      // Exactly one call for each wait: no thread is left that could make another.
      EXPECT_EQ(calls_.load(std::memory_order_relaxed), busy);
      EXPECT_EQ(io.Resume(), ResumeResult::kNoWaiter);
    }
  });
}

// The hypervisor may resume the region before it is idle. Each time, all consumers must get on
// before the next quiesce, so that the next resume does not save a waiter that was forgotten.
TEST_F(CurrentIoThreads, NoInterestIsLost) {
  Run(WhenQuiesced::kRegisterInterest, [this] {
    CurrentIo io(word_);
    Random random(1);
    while (!stopped() && !HasFailure()) {
      const bool idle = io.Quiesce() == QuiesceResult::kIdle;
      for (uint64_t pause = random.Below(200); pause > 0; --pause) (void)io.HasInterest();
      if (idle || io.IsIdle()) UseTheMemory();
      const auto before = Operations();
      if (io.Resume() == ResumeResult::kWakeConsumer) Wake();
      AwaitOperationsOfAllBeyond(before);
    }
  });
}

}  // namespace
}  // namespace verbena::memory
