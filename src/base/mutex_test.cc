#include "base/mutex.h"

#include <array>
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
