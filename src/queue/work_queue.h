#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/check.h"
#include "base/mutex.h"
#include "base/result.h"
#include "queue/ids.h"
#include "queue/work_request.h"

namespace verbena::queue {

// A send or receive queue: a ring of WQEs, each with room for its lists, allocated once.
//
//        begin()            end()
//   retired | posted, At(n)  | free
//   --------+----------------+-------->  WqeNumber
//
// An element keeps its place until the engine retires it: so the verbs define the queue depth.
//
// Invariant: begin <= end <= staged <= begin + capacity. Elements from begin to end do not change;
// the poster that holds the mutex owns all others.
//
// Thread rule: any thread posts. The engine, one thread at a time, calls the functions from begin()
// on and takes no lock: posters store end_ with release, the engine begin_. Posters exclude each
// other with a mutex, not a spin lock: an uncontended mutex makes no system call either, and if
// there are more threads than cores, spinning for a preempted holder lasts a time slice.
template <class Wqe>
class WorkQueue {  // NOLINT(clang-analyzer-optin.performance.Padding): on purpose
 public:
  // Posts a chain: holds the queue's mutex for its lifetime, and its destructor shows the whole
  // chain to the engine.
  class VERBENA_SCOPED_CAPABILITY Posting {
   public:
    [[nodiscard]] explicit Posting(WorkQueue& queue) VERBENA_ACQUIRE(queue.mutex_) : queue_(queue) {
      queue_.mutex_.Lock();
    }
    Posting(const Posting&) = delete;
    Posting& operator=(const Posting&) = delete;
    ~Posting() VERBENA_RELEASE() {
      queue_.Publish();
      queue_.mutex_.Unlock();
    }

    // A request that is refused has no effect; those added before it stay.
    // The analysis does not know that queue_ is the queue whose mutex this object holds.
    [[nodiscard]] Result<WqeNumber, PostError> Add(const WorkRequest<Wqe>& request)
        VERBENA_NO_THREAD_SAFETY_ANALYSIS {
      return queue_.Stage(request);
    }

    // Drops all requests that were added.
    void Abort() VERBENA_NO_THREAD_SAFETY_ANALYSIS { queue_.Unstage(); }

   private:
    WorkQueue& queue_;
  };

  explicit WorkQueue(const WorkQueueLimits& limits)
      : limits_(limits),
        mask_(std::bit_ceil(uint64_t{limits.capacity}) - 1),
        slots_(std::make_unique<Slot[]>(mask_ + 1)),
        sges_(std::make_unique<Sge[]>((mask_ + 1) * limits.sges_max)),
        // Not initialized, so pages are not touched: rows are long, and most programs use few.
        inlines_(std::make_unique_for_overwrite<std::byte[]>((mask_ + 1) * limits.inline_max)),
        pages_(std::make_unique_for_overwrite<uint64_t[]>((mask_ + 1) * limits.pages_max)) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  [[nodiscard]] const WorkQueueLimits& limits() const { return limits_; }

  [[nodiscard]] Result<WqeNumber, PostError> Post(const WorkRequest<Wqe>& request)
      VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const Result<WqeNumber, PostError> number = Stage(request);
    if (number) Publish();
    return number;
  }

  // The oldest element that is not retired.
  [[nodiscard]] WqeNumber begin() const {
    return WqeNumber{begin_.load(std::memory_order_relaxed)};
  }
  // The number of the element that will be posted next.
  [[nodiscard]] WqeNumber end() const { return WqeNumber{end_.load(std::memory_order_acquire)}; }

  // REQUIRES, here and below: begin() <= n < end().
  [[nodiscard]] const Wqe& At(WqeNumber n) const { return SlotAt(n).wqe; }

  // Bytes of the message, inline or not.
  [[nodiscard]] uint64_t LengthAt(WqeNumber n) const { return SlotAt(n).length; }

  // Empty if the data is inline.
  [[nodiscard]] std::span<const Sge> SgesAt(WqeNumber n) const {
    return {RowOf(sges_, limits_.sges_max, n), SlotAt(n).sge_count};
  }

  // Empty if the data is not inline.
  [[nodiscard]] std::span<const std::byte> InlineAt(WqeNumber n) const {
    const Slot& slot = SlotAt(n);
    const size_t length = IsInlined(slot.wqe) ? static_cast<size_t>(slot.length) : 0;
    return {RowOf(inlines_, limits_.inline_max, n), length};
  }

  [[nodiscard]] std::span<const uint64_t> PagesAt(WqeNumber n) const {
    return {RowOf(pages_, limits_.pages_max, n), SlotAt(n).page_count};
  }

  // Frees the places of all elements up to and including `n`.
  void Retire(WqeNumber n) {
    CHECK(begin() <= n && n < end());
    begin_.store(n.value() + 1, std::memory_order_release);
  }

  // For the engine.
  [[nodiscard]] bool IsConsistent() const VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (begin() > end() || end().value() > staged_) return false;
    if (staged_ - begin().value() > limits_.capacity) return false;
    for (WqeNumber n = begin(); n < end(); n = Next(n)) {
      const Slot& slot = SlotAt(n);
      if (slot.sge_count > limits_.sges_max || slot.page_count > limits_.pages_max) return false;
      if (IsInlined(slot.wqe) && slot.length > limits_.inline_max) return false;
    }
    return true;
  }

 private:
  struct Slot {
    Wqe wqe;
    uint64_t length = 0;
    uint32_t sge_count = 0;
    uint32_t page_count = 0;
  };

  template <class T>
  T* RowOf(const std::unique_ptr<T[]>& rows, size_t width, WqeNumber n) const {
    return rows.get() + (n.value() & mask_) * width;
  }

  const Slot& SlotAt(WqeNumber n) const {
    DCHECK(begin() <= n && n < end());
    return slots_[n.value() & mask_];
  }

  Result<WqeNumber, PostError> Stage(const WorkRequest<Wqe>& request) VERBENA_REQUIRES(mutex_) {
    if (const auto error = Validate(request, limits_)) return Fail(*error);
    if (staged_ - begin_.load(std::memory_order_acquire) >= limits_.capacity) {
      return Fail(PostError::Exceeds(PostReason::kQueueFull, limits_.capacity, limits_.capacity));
    }
    const WqeNumber n(staged_);
    Slot& slot = slots_[n.value() & mask_];
    if (IsInlined(request.wqe)) {
      const uint64_t length = BytesOf(request.sges);
      if (length > limits_.inline_max) {
        return Fail(PostError::Exceeds(PostReason::kInlineTooLong, length, limits_.inline_max));
      }
      CopyInline(request.sges, n, slot);
      slot.length = length;
    } else {
      CopySges(request.sges, n, slot);
    }
    slot.wqe = request.wqe;
    slot.page_count = static_cast<uint32_t>(request.pages.size());
    if (!request.pages.empty()) {
      std::ranges::copy(request.pages, RowOf(pages_, limits_.pages_max, n));
    }
    ++staged_;
    return n;
  }

  void CopySges(std::span<const Sge> sges, WqeNumber n, Slot& slot) {
    Sge* to = RowOf(sges_, limits_.sges_max, n);
    uint64_t length = 0;
    for (const Sge& sge : sges) {
      length += sge.length;
      *to++ = sge;
    }
    slot.length = length;
    slot.sge_count = static_cast<uint32_t>(sges.size());
  }

  static uint64_t BytesOf(std::span<const Sge> sges) {
    uint64_t bytes = 0;
    for (const Sge& sge : sges) bytes += sge.length;
    return bytes;
  }

  // Inline data is addressed by pointer: the L_Key is ignored.
  void CopyInline(std::span<const Sge> sges, WqeNumber n, Slot& slot) {
    std::byte* to = RowOf(inlines_, limits_.inline_max, n);
    for (const Sge& sge : sges) {
      if (sge.length == 0) continue;  // its address may be invalid
      std::memcpy(to, reinterpret_cast<const void*>(static_cast<uintptr_t>(sge.address)),
                  sge.length);
      to += sge.length;
    }
    slot.sge_count = 0;
  }

  void Publish() VERBENA_REQUIRES(mutex_) { end_.store(staged_, std::memory_order_release); }
  void Unstage() VERBENA_REQUIRES(mutex_) { staged_ = end_.load(std::memory_order_relaxed); }

  const WorkQueueLimits limits_;
  const uint64_t mask_;
  // begin_ and end_ pass their elements between posters and engine.
  const std::unique_ptr<Slot[]> slots_;
  const std::unique_ptr<Sge[]> sges_;
  const std::unique_ptr<std::byte[]> inlines_;
  const std::unique_ptr<uint64_t[]> pages_;

  // The words that the engine writes and those that posters write are in different cache lines.
  alignas(64) std::atomic<uint64_t> begin_ = 0;  // written by the engine
  alignas(64) mutable Mutex mutex_;
  uint64_t staged_ VERBENA_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> end_ = 0;  // written under mutex_, read by the engine
};

using SendQueue = WorkQueue<SendWqe>;
using ReceiveQueue = WorkQueue<ReceiveWqe>;

}  // namespace verbena::queue
