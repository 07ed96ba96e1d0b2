#include "base/mutex.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace verbena {
namespace {

class Counter {
 public:
  void Add() VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    AddLocked();
  }

  [[nodiscard]] int value() VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return value_;
  }

 private:
  void AddLocked() VERBENA_REQUIRES(mutex_) { ++value_; }

  Mutex mutex_;
  int value_ VERBENA_GUARDED_BY(mutex_) = 0;
};

TEST(MutexTest, KeepsThreadsApart) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 10'000;
  Counter counter;
  std::array<std::thread, kThreads> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&counter] {
      for (int round = 0; round < kRounds; ++round) counter.Add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), kThreads * kRounds);
}

bool OtherThreadCanLock(Mutex& mutex) {
  bool locked = false;
  std::thread([&mutex, &locked] {
    if (!mutex.TryLock()) return;
    locked = true;
    mutex.Unlock();
  }).join();
  return locked;
}

TEST(MutexTest, TryLockReportsWhetherItLocked) {
  Mutex mutex;
  EXPECT_TRUE(OtherThreadCanLock(mutex));
  mutex.Lock();
  EXPECT_FALSE(OtherThreadCanLock(mutex));
  mutex.Unlock();
  EXPECT_TRUE(OtherThreadCanLock(mutex));
}

// Holds the mutex in a thread of its own, from construction until LetGoAfter or the destructor.
class Holder {
 public:
  explicit Holder(Mutex& mutex)
      : thread_([this, &mutex] {
          const MutexLock lock(mutex);
          holds_ = true;
          holds_.notify_one();
          lets_go_.wait(false);
          std::this_thread::sleep_for(delay_);
        }) {
    holds_.wait(false);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    LetGoAfter({});
    thread_.join();
  }

  void LetGoAfter(std::chrono::milliseconds delay) {
    if (lets_go_) return;
    delay_ = delay;
    lets_go_ = true;
    lets_go_.notify_one();
  }

 private:
  std::atomic<bool> holds_ = false;
  std::atomic<bool> lets_go_ = false;
  std::chrono::milliseconds delay_{};
  std::thread thread_;
};

// So long that a test hangs if its thread is not woken before.
constexpr Duration kForEver = Seconds(1'000'000);

TEST(MutexTest, TryLockForTakesAFreeOneAtOnce) {
  Mutex mutex;
  if (!mutex.TryLockFor(kForEver)) FAIL();
  EXPECT_FALSE(OtherThreadCanLock(mutex));
  mutex.Unlock();
  EXPECT_TRUE(OtherThreadCanLock(mutex));
}

TEST(MutexTest, TryLockForIsWokenWhenItBecomesFree) {
  Mutex mutex;
  Holder holder(mutex);
  holder.LetGoAfter(std::chrono::milliseconds(20));
  if (!mutex.TryLockFor(kForEver)) FAIL();
  EXPECT_FALSE(OtherThreadCanLock(mutex));
  mutex.Unlock();
}

TEST(MutexTest, TryLockForGivesUpInTime) {
  Mutex mutex;
  const Holder holder(mutex);
  std::future<bool> waiter =
      std::async(std::launch::async, [&mutex] { return mutex.TryLockFor(Milliseconds(200)); });
  EXPECT_EQ(waiter.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_FALSE(waiter.get());
  EXPECT_FALSE(OtherThreadCanLock(mutex)) << "it is still the holder's";
}

// A TryLockFor that times out must not swallow the wake-up of another sleeper.
TEST(MutexTest, OneThatGivesUpKeepsNoOtherAsleep) {
  Mutex mutex;
  {
    Holder holder(mutex);
    std::thread waiter([&mutex] {
      mutex.Lock();
      mutex.Unlock();
    });
    EXPECT_FALSE(mutex.TryLockFor(Milliseconds(20)));
    holder.LetGoAfter({});
    waiter.join();
  }
  EXPECT_TRUE(OtherThreadCanLock(mutex));
}

// Kills the process if this thread calls sched_yield from here on.
void ForbidYielding() {
  std::array filter = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()),
                           .filter = filter.data()};
  const bool is_set = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
  if (!is_set) std::exit(2);
}

// A pager that waits for a busy poller would lose milliseconds by every yield.
TEST(MutexDeathTest, AWaitingThreadKeepsItsTurn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto wait_for_one_who_holds_it = [] {
    Mutex mutex;
    mutex.Lock();
    std::thread waiter([&mutex] {
      ForbidYielding();
      mutex.Lock();
      mutex.Unlock();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    mutex.Unlock();
    waiter.join();
    std::exit(0);
  };
  EXPECT_EXIT(wait_for_one_who_holds_it(), testing::ExitedWithCode(0), "");
}

TEST(MutexLockTest, HoldsToTheEndOfItsScope) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(OtherThreadCanLock(mutex));
  }
  EXPECT_TRUE(OtherThreadCanLock(mutex));
}

}  // namespace
}  // namespace verbena
