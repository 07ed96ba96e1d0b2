#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/check.h"

namespace verbena::queue {

// A lock-free ring that passes values from one thread to another. The caller of Push must know that
// there is room: a push into a full ring is a bug.
//
// Invariant: positions begin_ to end_ hold values; both only grow. Thread rule: one pusher and one
// popper at a time, which may be different threads.
template <class T>
class SpscRing {  // NOLINT(clang-analyzer-optin.performance.Padding): on purpose
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit SpscRing(size_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), values_(std::make_unique<T[]>(mask_ + 1)) {}
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  // For the pusher.
  void Push(T value) {
    const uint64_t end = end_.load(std::memory_order_relaxed);
    CHECK(end - begin_.load(std::memory_order_acquire) <= mask_);
    values_[end & mask_] = value;
    end_.store(end + 1, std::memory_order_release);
  }

  // For the popper.
  [[nodiscard]] std::optional<T> Pop() {
    const uint64_t begin = begin_.load(std::memory_order_relaxed);
    if (begin == end_.load(std::memory_order_acquire)) return std::nullopt;
    const T value = values_[begin & mask_];
    begin_.store(begin + 1, std::memory_order_release);
    return value;
  }

  // For the popper: the value that the (i + 1)-th Pop would return. REQUIRES: i < size().
  [[nodiscard]] T Peek(size_t i) const {
    const uint64_t begin = begin_.load(std::memory_order_relaxed);
    DCHECK(i < end_.load(std::memory_order_acquire) - begin);
    return values_[(begin + i) & mask_];
  }

  // Exact while neither side runs. For the popper it is a lower bound, for the pusher an upper one.
  // begin_ is read first, so that it never exceeds end_.
  [[nodiscard]] size_t size() const {
    const uint64_t begin = begin_.load(std::memory_order_acquire);
    return end_.load(std::memory_order_acquire) - begin;
  }

 private:
  const size_t mask_;
  const std::unique_ptr<T[]> values_;
  // In different cache lines, so that the two sides do not write to the same one.
  alignas(64) std::atomic<uint64_t> begin_ = 0;
  alignas(64) std::atomic<uint64_t> end_ = 0;
};

}  // namespace verbena::queue
