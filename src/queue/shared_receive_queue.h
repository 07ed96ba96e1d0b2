#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "base/result.h"
#include "queue/ids.h"
#include "queue/spsc_ring.h"
#include "queue/work_request.h"

namespace verbena::queue {

// A receive queue for several queue pairs. They finish in any order, so an element cycles through
// three states: free, posted (in order), taken.
//
//   Post: free -> posted      Take: posted -> taken      Give: taken -> free
//
// Elements never move in memory; growth adds a block.
//
// Invariant: every element is in exactly one state; posted and taken ones together are at most
// capacity(), which Resize does not lower below their number.
//
// Thread rule: any thread posts and sets the limit; posters exclude each other with a mutex (see
// WorkQueue). The engine, one thread at a time, takes and gives without a lock. Only the engine
// calls Resize.
class SharedReceiveQueue {
  struct Slot;

 public:
  // A taken element. A value type; valid until the element is given back.
  class Handle {
   public:
    [[nodiscard]] const ReceiveWqe& wqe() const { return slot_->wqe; }
    [[nodiscard]] std::span<const Sge> sges() const { return {slot_->sges, slot_->sge_count}; }
    [[nodiscard]] uint64_t length() const { return slot_->length; }

    friend bool operator==(Handle, Handle) = default;

   private:
    friend SharedReceiveQueue;
    explicit Handle(Slot* slot) : slot_(slot) {}

    Slot* slot_;
  };

  struct Taken {
    Handle handle;
    bool limit_reached = false;  // raise the SRQ limit event
  };

  enum class ResizeError : uint8_t { kTooSmall };

  SharedReceiveQueue(uint32_t capacity, uint32_t sges_max);
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  [[nodiscard]] Result<void, PostError> Post(const ReceiveWorkRequest& request)
      VERBENA_EXCLUDES(mutex_);

  // Arms the limit event; 0 disarms it. If fewer elements are posted, the next Take raises it.
  void SetLimit(uint32_t limit) { limit_.store(limit, std::memory_order_relaxed); }
  // 0 if it is not armed.
  [[nodiscard]] uint32_t limit() const { return limit_.load(std::memory_order_relaxed); }

  // The oldest posted element.
  [[nodiscard]] std::optional<Taken> Take();

  void Give(Handle handle) {
    taken_count_.fetch_sub(1, std::memory_order_relaxed);
    free_->Push(handle.slot_);
  }

  // Posted and not taken. For the engine.
  [[nodiscard]] size_t size() const { return posted_->size(); }
  // The same by number, in the order of posting and taking. For the engine; REQUIRES: begin() <= n
  // < end().
  [[nodiscard]] WqeNumber begin() const { return begin_; }
  [[nodiscard]] WqeNumber end() const { return WqeNumber(begin_.value() + size()); }
  [[nodiscard]] std::span<const Sge> SgesAt(WqeNumber n) const {
    const Slot* const slot = posted_->Peek(n.value() - begin_.value());
    return {slot->sges, slot->sge_count};
  }
  [[nodiscard]] uint32_t capacity() const VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return capacity_;
  }
  [[nodiscard]] uint32_t sges_max() const { return limits_.sges_max; }

  // Fails below the number of elements that are posted or taken. Allocates when it grows.
  [[nodiscard]] Result<void, ResizeError> Resize(uint32_t capacity) VERBENA_EXCLUDES(mutex_);

  // For the engine.
  [[nodiscard]] bool IsConsistent() const VERBENA_EXCLUDES(mutex_);

 private:
  struct Slot {
    ReceiveWqe wqe;
    uint64_t length = 0;
    Sge* sges = nullptr;
    uint32_t sge_count = 0;
  };
  struct Block {
    std::unique_ptr<Slot[]> slots;
    std::unique_ptr<Sge[]> sges;
  };
  using SlotRing = SpscRing<Slot*>;

  // Adds elements until there are `count`, all of them free.
  void GrowTo(uint32_t count) VERBENA_REQUIRES(mutex_);

  const WorkQueueLimits limits_;
  mutable Mutex mutex_;
  uint32_t capacity_ VERBENA_GUARDED_BY(mutex_);
  uint32_t slot_count_ VERBENA_GUARDED_BY(mutex_) = 0;
  std::vector<Block> blocks_ VERBENA_GUARDED_BY(mutex_);
  // The posters use one end of each ring, under mutex_, and the engine the other. The pointers
  // change only in Resize, which the engine calls, and which holds mutex_.
  std::unique_ptr<SlotRing> free_;    // engine to posters
  std::unique_ptr<SlotRing> posted_;  // posters to engine
  std::atomic<uint32_t> limit_ = 0;
  std::atomic<uint32_t> taken_count_ = 0;  // written by the engine
  WqeNumber begin_;                        // used by the engine
};

}  // namespace verbena::queue
