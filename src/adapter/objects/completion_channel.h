#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "adapter/objects/expected_event.h"
#include "base/check.h"
#include "base/event_file.h"
#include "base/mutex.h"
#include "queue/completion_queue.h"

namespace verbena::adapter {

class CompletionChannel;
class EventQueue;

// A completion queue with the channel that its events go to. Every completion queue of an adapter
// is a Cq, so the engine can cast the queues that the state machines name.
//
// Owned by the adapter. Thread rule: that of the base; the rest under the engine's lock, except for
// the members that the channel guards, and is_armed_, which any thread may access.
class Cq : public queue::CompletionQueue {
 public:
  Cq(size_t capacity, CompletionChannel* channel, EventQueue* events = nullptr)
      : queue::CompletionQueue(capacity), channel_(channel), events_(events) {}

  [[nodiscard]] CompletionChannel* channel() const { return channel_; }
  // The queue for its asynchronous events; nullptr: they are dropped.
  [[nodiscard]] EventQueue* events() const { return events_; }

  // Arms the queue, and remembers that until Disarmed: a program that polls an armed queue is about
  // to sleep.
  void ArmForEvent(Wanted wanted) {
    is_armed_.store(true, std::memory_order_relaxed);
    Arm(wanted);
  }
  [[nodiscard]] bool is_armed() const { return is_armed_.load(std::memory_order_relaxed); }
  void Disarmed() { is_armed_.store(false, std::memory_order_relaxed); }

  uint32_t users = 0;             // queue pairs; one with both its queues on this CQ counts twice
  bool error_was_raised = false;  // the asynchronous event of the CQ error was raised
  bool is_moderated = false;

 private:
  friend class CompletionChannel;

  CompletionChannel* const channel_;
  EventQueue* const events_;
  std::atomic<bool> is_armed_ = false;
  // Guarded by the channel's mutex.
  Cq* next_pending_ = nullptr;
  uint32_t pending_ = 0;  // events that were not taken yet
};

// Where a program waits for events of its completion queues: a file to wait on, and a list of the
// queues with events. Needs no memory per event: a queue is in the list once, with a count.
//
// Owned by the adapter; its queues name it. Any thread.
class CompletionChannel : public ExpectedEvent {
 public:
  explicit CompletionChannel(EventFile file) : file_(std::move(file)) {}
  CompletionChannel(const CompletionChannel&) = delete;
  CompletionChannel& operator=(const CompletionChannel&) = delete;

  // Readable while there are events. The program may make it non-blocking.
  [[nodiscard]] int fd() const { return file_.fd(); }

  // Adds an event of a queue of this channel. By the engine.
  void Raise(Cq& cq) VERBENA_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (cq.pending_++ == 0) Append(cq);
    }
    if (!RaiseExpected()) file_.Signal();
  }

  // Takes the oldest event and returns its queue. nullptr if there is none and the file is
  // non-blocking, or if the queue is gone.
  [[nodiscard]] Cq* Wait() VERBENA_EXCLUDES(mutex_) {
    return file_.Wait() ? TakeOldest() : nullptr;
  }
  // The same, but never blocks.
  [[nodiscard]] Cq* TryWait() VERBENA_EXCLUDES(mutex_) {
    return has_events() && file_.TryWait() ? TakeOldest() : nullptr;
  }
  [[nodiscard]] bool has_events() const VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return first_ != nullptr;
  }
  // False if the program has made the file non-blocking.
  [[nodiscard]] bool blocks() const { return file_.blocks(); }

  // Takes the oldest event, if one was raised since Expect; else nullptr. Ends Expect. Under the
  // engine's lock.
  [[nodiscard]] Cq* TakeExpected() VERBENA_EXCLUDES(mutex_) {
    return EndExpect() ? TakeOldest() : nullptr;
  }

  // The last waiter of this channel made the progress itself; the next one probably will, too.
  [[nodiscard]] bool serves_itself() const {
    return serves_itself_.load(std::memory_order_relaxed);
  }
  void set_serves_itself(bool serves) { serves_itself_.store(serves, std::memory_order_relaxed); }

  // Drops the events of a queue that is about to be destroyed.
  void Forget(Cq& cq) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (cq.pending_ == 0) return;
    Cq* before = nullptr;
    for (Cq* at = first_; at != &cq; at = at->next_pending_) {
      CHECK(at != nullptr);  // else the queue has events, but not of this channel
      before = at;
    }
    (before == nullptr ? first_ : before->next_pending_) = cq.next_pending_;
    if (last_ == &cq) last_ = before;
    cq.pending_ = 0;
  }

  // Each queue in the list belongs to this channel, has events, and is in the list once.
  [[nodiscard]] bool IsConsistent() const VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    constexpr size_t kQueuesMax = size_t{1} << 20;  // a longer list is a cycle
    const Cq* last = nullptr;
    size_t count = 0;
    for (const Cq* at = first_; at != nullptr; at = at->next_pending_) {
      if (at->pending_ == 0 || at->channel_ != this || ++count > kQueuesMax) return false;
      last = at;
    }
    return last == nullptr || last == last_;
  }

  // A thread that waits for an event of the channel, which must not be destroyed meanwhile.
  class Waiter {
   public:
    explicit Waiter(CompletionChannel& channel) : channel_(channel) {
      channel_.waiters_.fetch_add(1);
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    ~Waiter() { channel_.waiters_.fetch_sub(1); }

   private:
    CompletionChannel& channel_;
  };
  [[nodiscard]] bool has_waiters() const { return waiters_.load() > 0; }

  uint32_t users = 0;  // completion queues; under the engine's lock

 private:
  [[nodiscard]] Cq* TakeOldest() VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Cq* const cq = first_;
    if (cq == nullptr) return nullptr;
    DCHECK(cq->pending_ > 0 && cq->channel_ == this);
    first_ = cq->next_pending_;
    if (--cq->pending_ > 0) Append(*cq);
    return cq;
  }
  void Append(Cq& cq) VERBENA_REQUIRES(mutex_) {
    cq.next_pending_ = nullptr;
    (first_ == nullptr ? first_ : last_->next_pending_) = &cq;
    last_ = &cq;
  }

  const EventFile file_;
  std::atomic<bool> serves_itself_ = false;
  std::atomic<uint32_t> waiters_ = 0;
  mutable Mutex mutex_;
  Cq* first_ VERBENA_GUARDED_BY(mutex_) = nullptr;
  Cq* last_ VERBENA_GUARDED_BY(mutex_) = nullptr;  // meaningless while empty
};

}  // namespace verbena::adapter
