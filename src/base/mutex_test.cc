#include "base/mutex.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
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

TEST(MutexTest, TryLockTellsWhetherItWasFree) {
  Mutex mutex;
  EXPECT_TRUE(OtherThreadCanLock(mutex));
  mutex.Lock();
  EXPECT_FALSE(OtherThreadCanLock(mutex));
  mutex.Unlock();
  EXPECT_TRUE(OtherThreadCanLock(mutex));
}

// From now on this thread ends the process if it gives the processor away.
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

// A pager that waits for a busy poller would lose milliseconds by every turn that it gives away.
TEST(MutexDeathTest, WhoWaitsKeepsItsTurn) {
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
