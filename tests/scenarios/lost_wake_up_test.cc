// Tests the memory orders of the four steps in queue/completion_queue.h. A data race detector
// cannot check them, because all four steps are atomic with any memory order.

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "base/processors.h"
#include "queue/completion_queue.h"

namespace verbena::queue {
namespace {

// Two threads in lockstep: each waits for the other before every step.
class Lockstep {
 public:
  // Returns as soon as both threads have reached this step.
  void Meet(size_t thread, uint64_t step) {
    at_[thread].value.store(step);
    while (at_[1 - thread].value.load() < step) {
    }
  }

 private:
  struct alignas(64) Place {
    std::atomic<uint64_t> value = 0;
  };

  std::array<Place, 2> at_;
};

// Pins the calling thread to the n-th processor that it may use: two threads that wait for each
// other on one processor never run at the same time.
void StayOn(int n) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed) || n-- > 0) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}

// Delays the calling thread a little, by a different time at each step.
void Stagger(uint64_t step) {
  constexpr uint64_t kTimesMax = 8;
  std::atomic<uint64_t> left = step % kTimesMax;
  while (left.load(std::memory_order_relaxed) > 0) left.fetch_sub(1, std::memory_order_relaxed);
}

// One thread pushes a completion while the other arms the queue and polls once more. Records
// whether the push raised an event and whether the poll found the completion.
struct Encounter {
  CompletionQueue queue{1};
  bool raised_event = false;
  bool was_polled = false;

  void Push() { raised_event = queue.Push({}, false, Time()).event_now; }
  void ArmAndPoll() {
    queue.Arm(CompletionQueue::Wanted::kAll);
    was_polled = Drain();
  }
  bool Drain() {
    std::array<Completion, 1> polled;
    return queue.Poll(polled).value() > 0;
  }
  // Leaves the queue disarmed and empty, for the next round.
  void Reset() {
    if (!was_polled) Drain();
    if (!raised_event) {
      EXPECT_TRUE(queue.Push({}, false, Time()).event_now);
      Drain();
    }
  }
};

// The two threads of a litmus test, which run through many queues.
class LostWakeUpTest : public testing::Test {
 protected:
  static constexpr size_t kQueues = 512;

  LostWakeUpTest() {
    for (auto& encounter : encounters_) encounter = std::make_unique<Encounter>();
  }

  void BeEngine() {
    StayOn(0);
    for (uint64_t step = 1;; ++step) {
      lockstep_.Meet(0, step);
      if (stop_) return;
      for (const auto& encounter : encounters_) {
        lockstep_.Meet(0, ++step);
        Stagger(step);
        encounter->Push();
      }
      lockstep_.Meet(0, ++step);
    }
  }
  void BeProgram(std::chrono::milliseconds patience) {
    StayOn(1);
    const auto end = std::chrono::steady_clock::now() + patience;
    for (uint64_t step = 1;; ++step) {
      stop_ = wake_ups_ >= kEnough || std::chrono::steady_clock::now() > end;
      lockstep_.Meet(1, step);
      if (stop_) return;
      for (const auto& encounter : encounters_) {
        lockstep_.Meet(1, ++step);
        Stagger(step / kQueues);
        encounter->ArmAndPoll();
      }
      lockstep_.Meet(1, ++step);
      for (const auto& encounter : encounters_) {
        lost_ += !encounter->raised_event && !encounter->was_polled ? 1 : 0;
        encounter->Reset();
      }
      wake_ups_ += kQueues;
    }
  }

  static constexpr uint64_t kEnough = 4'000'000;

  std::array<std::unique_ptr<Encounter>, kQueues> encounters_;
  Lockstep lockstep_;
  std::atomic<bool> stop_ = false;
  uint64_t wake_ups_ = 0;
  uint64_t lost_ = 0;
};

// If the store of tail_ is still in the store buffer of its processor when arm_ is read, and the
// other processor has meanwhile armed and polled, neither side notices the other: the lost wake-up,
// which x86 allows unless P1 is sequentially consistent. On x86 the other three steps compile to
// the same instructions with weaker orders: Arm is a locked instruction, and loads are plain ones.
TEST_F(LostWakeUpTest, ACompletionIsPolledOrRaisesItsEvent) {
  if (AllowedProcessors() < 2) GTEST_SKIP() << "needs two processors that run at the same time";
  std::thread engine([this] { BeEngine(); });
  std::thread program([this] { BeProgram(std::chrono::milliseconds(1'500)); });
  engine.join();
  program.join();
  EXPECT_EQ(lost_, 0u) << "of " << wake_ups_ << " wake-ups";
}

}  // namespace
}  // namespace verbena::queue
