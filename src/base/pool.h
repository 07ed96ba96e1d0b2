#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace verbena {

// Makes objects of one type at stable addresses, without a call to the allocator per object. The
// pool takes memory in chunks and keeps it for reuse until it is destroyed. An object costs nothing
// beside itself: the free list runs through the free slots. Slots are reused last in, first out,
// because the last one is still in the processor's cache.
//
// Owns the objects: its destructor destroys those that are left. Not thread-safe: its owner guards
// it.
template <class T>
class Pool {
 public:
  // `limit` is the largest number of objects at a time.
  explicit Pool(std::size_t limit) : limit_(limit) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    if constexpr (!std::is_trivially_destructible_v<T>) DestroyLiving();
  }

  // nullptr at the limit.
  template <class... Args>
  [[nodiscard]] T* New(Args&&... args) {
    if (size_ == limit_) return nullptr;
    if (free_ == nullptr) AddChunk();
    Slot* const slot = free_;
    free_ = slot->next_free;
    ++size_;
    return ::new (static_cast<void*>(slot->object)) T(std::forward<Args>(args)...);
  }

  // `object` comes from New of this pool.
  void Delete(T* object) {
    DCHECK(Owns(object));
    CHECK(size_ > 0);
    std::destroy_at(object);
    PushFree(object);
    --size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  // The memory held for objects, living or free.
  [[nodiscard]] std::size_t bytes() const { return slot_count_ * sizeof(Slot); }

 private:
  union Slot {
    Slot* next_free;
    alignas(T) std::byte object[sizeof(T)];
  };

  // Large enough to make calls to the allocator rare, small enough not to matter when mostly
  // unused.
  static constexpr std::size_t kChunkBytes = 16 * 1024;
  static constexpr std::size_t kChunkSlots = std::max<std::size_t>(1, kChunkBytes / sizeof(Slot));

  struct Chunk {
    std::unique_ptr<Slot[]> slots;
    std::size_t count;
    std::bitset<kChunkSlots> is_free = {};  // filled by the destructor only
  };

  void AddChunk() {
    const std::size_t count = std::min(kChunkSlots, limit_ - slot_count_);
    Chunk& chunk =
        chunks_.emplace_back(Chunk{std::make_unique_for_overwrite<Slot[]>(count), count});
    slot_count_ += count;
    // Backwards, so that New hands slots out by ascending address.
    for (std::size_t i = count; i-- > 0;) PushFree(&chunk.slots[i]);
  }

  void PushFree(void* place) { free_ = ::new (place) Slot{.next_free = free_}; }

  // A slot does not know whether it is in use, so a walk along the free list marks the free ones.
  // Allocates nothing: a pool can be destroyed because there is no memory.
  void DestroyLiving() {
    if (size_ == 0) return;
    const auto begin_of = [](const Chunk& chunk) { return chunk.slots.get(); };
    std::ranges::sort(chunks_, std::less<>(), begin_of);
    for (const Slot* slot = free_; slot != nullptr; slot = slot->next_free) {
      Chunk& chunk = *std::prev(
          std::ranges::upper_bound(chunks_, const_cast<Slot*>(slot), std::less<>(), begin_of));
      chunk.is_free.set(static_cast<std::size_t>(slot - begin_of(chunk)));
    }
    for (const Chunk& chunk : chunks_) {
      for (std::size_t i = 0; i < chunk.count; ++i) {
        if (chunk.is_free[i]) continue;
        std::destroy_at(std::launder(reinterpret_cast<T*>(chunk.slots[i].object)));
      }
    }
  }

  bool Owns(const T* object) const {
    const auto* const place = reinterpret_cast<const Slot*>(object);
    return std::any_of(chunks_.begin(), chunks_.end(), [place](const Chunk& chunk) {
      const Slot* const begin = chunk.slots.get();
      return !std::less<>()(place, begin) && std::less<>()(place, begin + chunk.count);
    });
  }

  const std::size_t limit_;
  std::size_t size_ = 0;
  std::size_t slot_count_ = 0;
  Slot* free_ = nullptr;
  std::vector<Chunk> chunks_;
};

}  // namespace verbena
