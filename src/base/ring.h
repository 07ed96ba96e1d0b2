#pragma once

#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"

namespace verbena {

// A bounded queue in one block of memory, allocated once. The block has a power of two of slots, so
// a mask finds a position; the capacity is exactly the constructor's argument.
//
// Invariant: the positions head_ to tail_, and no others, hold constructed objects. Both only grow
// and are masked at use, so full and empty differ without a spare slot. One thread at a time: its
// owner guards it. Not movable: other objects can point into it.
template <class T>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : capacity_(capacity), mask_(std::bit_ceil(capacity) - 1) {
    CHECK(capacity >= 1);
    slots_ = std::allocator<T>().allocate(mask_ + 1);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    clear();
    std::allocator<T>().deallocate(slots_, mask_ + 1);
  }

  // Adds at the back; false when full.
  [[nodiscard]] bool TryPush(T value) {
    if (full()) return false;
    std::construct_at(&slots_[tail_ & mask_], std::move(value));
    ++tail_;
    return true;
  }

  // Takes from the front; nullopt when empty.
  [[nodiscard]] std::optional<T> TryPop() {
    if (empty()) return std::nullopt;
    std::optional<T> value(std::move(front()));
    DropFront();
    return value;
  }

  [[nodiscard]] T& front() { return (*this)[0]; }
  [[nodiscard]] const T& front() const { return (*this)[0]; }

  // The i-th from the front.
  [[nodiscard]] T& operator[](std::size_t i) {
    CHECK(i < size());
    return slots_[(head_ + i) & mask_];
  }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    CHECK(i < size());
    return slots_[(head_ + i) & mask_];
  }

  [[nodiscard]] std::size_t size() const { return tail_ - head_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] bool full() const { return size() == capacity_; }

  void clear() {
    while (!empty()) DropFront();
  }

 private:
  void DropFront() {
    std::destroy_at(&slots_[head_ & mask_]);
    ++head_;
  }

  const std::size_t capacity_;
  const std::size_t mask_;
  T* slots_ = nullptr;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace verbena
