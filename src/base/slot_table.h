#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace verbena {

// A table whose Ids go stale: the low kIndexBits of an Id are the index of a slot, the rest is the
// generation of the slot, which starts at 1 and changes at every reuse. So Id 0 is never valid, and
// the Id of an erased value never finds its successor. A slot whose generations are used up is
// retired.
//
// Memory grows to the largest number of values held at once, and values keep their addresses. Freed
// slots are reused first in, first out: that wears the generations evenly, and keeps each stale
// index unused for as long as possible.
//
// Invariant: each slot is live, on the free list, or retired. Not thread-safe: its owner guards it.
template <class T, class Id, unsigned kIndexBits>
class SlotTable {
  static_assert(std::is_same_v<typename Id::ValueType, uint32_t>);
  static_assert(kIndexBits >= 1 && kIndexBits <= 31);

 public:
  explicit SlotTable(std::size_t capacity) : capacity_(capacity) {
    CHECK(capacity <= std::size_t{1} << kIndexBits);
  }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  // nullopt when every slot is live or retired.
  [[nodiscard]] std::optional<Id> Insert(T value) {
    const std::optional<uint32_t> index = TakeSlot();
    if (!index) return std::nullopt;
    Slot& slot = slots_[*index];
    slot.value.emplace(std::move(value));
    ++size_;
    return MakeId(*index, slot.generation);
  }

  // nullptr when `id` is stale or was never given out.
  [[nodiscard]] T* Find(Id id) { return const_cast<T*>(std::as_const(*this).Find(id)); }
  [[nodiscard]] const T* Find(Id id) const {
    const uint32_t index = id.value() & kIndexMask;
    if (index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[index];
    if (slot.generation != id.value() >> kIndexBits || !slot.value) return nullptr;
    return &*slot.value;
  }

  // False when `id` is stale or was never given out.
  bool Erase(Id id) {
    if (Find(id) == nullptr) return false;
    const uint32_t index = id.value() & kIndexMask;
    slots_[index].value.reset();
    --size_;
    FreeSlot(index);
    return true;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  // The number of retired slots, which the table can no longer use.
  [[nodiscard]] std::size_t retired() const { return retired_; }

  // Calls fn(Id, T&) for each value, by ascending index. `fn` can erase any value. ForEach may or
  // may not visit a value that `fn` inserts.
  template <class Fn>
  void ForEach(Fn fn) {
    ForEachIn(slots_, fn);
  }
  template <class Fn>
  void ForEach(Fn fn) const {
    ForEachIn(slots_, fn);
  }

  // Recounts everything.
  [[nodiscard]] bool IsConsistent() const {
    std::size_t live = 0;
    for (const Slot& slot : slots_) {
      if (slot.generation == 0 || slot.generation > kGenerationMax) return false;
      if (slot.value) ++live;
    }
    std::size_t free = 0;
    for (uint32_t index = free_head_; index != kNone; index = slots_[index].next_free) {
      if (index >= slots_.size() || slots_[index].value) return false;
      if (++free > slots_.size()) return false;  // a cycle
      if (slots_[index].next_free == kNone && index != free_tail_) return false;
    }
    return live == size_ && live + free + retired_ == slots_.size() && slots_.size() <= capacity_;
  }

 private:
  static constexpr uint32_t kIndexMask = ~uint32_t{0} >> (32 - kIndexBits);
  static constexpr uint32_t kGenerationMax = ~uint32_t{0} >> kIndexBits;
  static constexpr uint32_t kNone = ~uint32_t{0};  // above every index, which has 31 bits at most

  struct Slot {
    uint32_t generation = 1;  // of the value that the slot holds or will hold next
    uint32_t next_free = kNone;
    std::optional<T> value;
  };

  static Id MakeId(uint32_t index, uint32_t generation) {
    return Id(generation << kIndexBits | index);
  }

  template <class Slots, class Fn>
  static void ForEachIn(Slots& slots, Fn& fn) {
    for (uint32_t index = 0; index < slots.size(); ++index) {
      auto& slot = slots[index];
      if (slot.value) fn(MakeId(index, slot.generation), *slot.value);
    }
  }

  std::optional<uint32_t> TakeSlot() {
    if (free_head_ != kNone) {
      const uint32_t index = free_head_;
      free_head_ = slots_[index].next_free;
      return index;
    }
    if (slots_.size() == capacity_) return std::nullopt;
    slots_.emplace_back();
    return static_cast<uint32_t>(slots_.size() - 1);
  }

  void FreeSlot(uint32_t index) {
    Slot& slot = slots_[index];
    if (slot.generation == kGenerationMax) {
      ++retired_;
      return;
    }
    ++slot.generation;
    slot.next_free = kNone;
    (free_head_ == kNone ? free_head_ : slots_[free_tail_].next_free) = index;
    free_tail_ = index;
  }

  const std::size_t capacity_;
  std::deque<Slot> slots_;
  uint32_t free_head_ = kNone;
  uint32_t free_tail_ = kNone;  // meaningless while the free list is empty
  std::size_t size_ = 0;
  std::size_t retired_ = 0;
};

}  // namespace verbena
