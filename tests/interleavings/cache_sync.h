#pragma once

// In place of the types of src/cache/sync.h: every use is a point at which another thread can go
// first.

#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "tests/interleavings/scheduler.h"

namespace verbena::cache {

// Zero bytes are an object with the value 0, as tables of the cache need it.
template <class T>
class SyncAtomic {
 public:
  SyncAtomic() = default;
  constexpr SyncAtomic(T value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  SyncAtomic(const SyncAtomic&) = delete;
  SyncAtomic& operator=(const SyncAtomic&) = delete;

  [[nodiscard]] T load(std::memory_order /*order*/ = std::memory_order_seq_cst) const {
    interleavings::Point();
    return value_;
  }
  void store(T value, std::memory_order /*order*/ = std::memory_order_seq_cst) {
    interleavings::Point();
    value_ = value;
  }
  T exchange(T value, std::memory_order /*order*/ = std::memory_order_seq_cst) {
    interleavings::Point();
    return std::exchange(value_, value);
  }
  T fetch_add(T count, std::memory_order /*order*/ = std::memory_order_seq_cst) {
    interleavings::Point();
    return std::exchange(value_, value_ + count);
  }
  T fetch_sub(T count, std::memory_order /*order*/ = std::memory_order_seq_cst) {
    interleavings::Point();
    return std::exchange(value_, value_ - count);
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order /*order*/) {
    interleavings::Point();
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = value;
    return true;
  }

 private:
  T value_;
};

class VERBENA_CAPABILITY("mutex") Mutex {
 public:
  void Lock() VERBENA_ACQUIRE() {
    interleavings::WaitFor(is_free_);
    is_held_ = true;
  }
  void Unlock() VERBENA_RELEASE() {
    is_held_ = false;
    interleavings::Point();
  }

 private:
  bool is_held_ = false;
  const std::function<bool()> is_free_ = [this] { return !is_held_; };
};

class VERBENA_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) VERBENA_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() VERBENA_RELEASE() { mutex_.Unlock(); }

 private:
  Mutex& mutex_;
};

inline void YieldThread() { interleavings::Yield(); }
[[nodiscard]] inline uint32_t ThreadNumber() { return interleavings::ThisThread(); }

}  // namespace verbena::cache
