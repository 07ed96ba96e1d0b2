#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "adapter/objects/expected_event.h"
#include "base/event_file.h"
#include "base/mutex.h"
#include "verbena/cm_event.h"

namespace verbena::adapter {

class CmEventQueue;

// Where the events of one id go, and the program's pointer for the id. Events refer to it, so that
// a change also applies to events in the queue.
//
// Any thread reads and sets `user`; the rest under the engine's lock.
struct CmEventTarget {
  CmEventQueue* queue = nullptr;
  std::atomic<void*> user = nullptr;
};

// The events of the connection manager that a program has not taken yet, with a file to wait on. An
// id has a bounded number of events, so the queue is bounded by the number of ids.
//
// Owned by the program's channel, which outlives the ids that refer to it. Any thread, except that
// Raise, Expect and TakeExpected are called under the engine's lock.
class CmEventQueue : public ExpectedEvent {
 public:
  explicit CmEventQueue(EventFile file) : file_(std::move(file)) {}
  CmEventQueue(const CmEventQueue&) = delete;
  CmEventQueue& operator=(const CmEventQueue&) = delete;

  // Readable while there are events. The program may make it non-blocking.
  [[nodiscard]] int fd() const { return file_.fd(); }
  [[nodiscard]] bool blocks() const { return file_.blocks(); }

  // Called by the engine.
  void Raise(const CmEventTarget& target, const CmEvent& event) VERBENA_EXCLUDES(mutex_) {
    Push(&target, event);
    if (!RaiseExpected()) file_.Signal();
  }
  // Adds an event that the caller made, without a target. Any thread.
  void Post(const CmEvent& event) VERBENA_EXCLUDES(mutex_) {
    Push(nullptr, event);
    file_.Signal();
  }

  // The oldest event; nullopt if there is none and the file is non-blocking, or if a signal handler
  // ran, with errno; nullopt without errno if the event was dropped meanwhile.
  [[nodiscard]] std::optional<CmEvent> Wait() VERBENA_EXCLUDES(mutex_) {
    if (!file_.Wait()) return std::nullopt;
    return TakeOldest();
  }
  // The same, but never blocks.
  [[nodiscard]] std::optional<CmEvent> TryWait() VERBENA_EXCLUDES(mutex_) {
    if (!has_events() || !file_.TryWait()) return std::nullopt;
    return TakeOldest();
  }
  [[nodiscard]] std::optional<CmEvent> TakeExpected() VERBENA_EXCLUDES(mutex_) {
    if (!EndExpect()) return std::nullopt;
    return TakeOldest();
  }
  [[nodiscard]] bool has_events() const VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return !events_.empty();
  }

  // Drops the events of an id that is about to be destroyed. Their signals stay: a wait that takes
  // such a signal finds no event and takes the next one.
  void Forget(const CmEventTarget& target) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    DropSignals(
        std::erase_if(events_, [&](const Entry& entry) { return entry.target == &target; }));
  }
  // Drops the posted events of `user`.
  void Withdraw(const void* user) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    DropSignals(std::erase_if(events_, [&](const Entry& entry) {
      return entry.target == nullptr && entry.event.user == user;
    }));
  }
  // Moves the events of an id to the end of another queue. Called by the engine.
  void MoveTo(CmEventQueue& other, const CmEventTarget& target) VERBENA_EXCLUDES(mutex_) {
    std::deque<Entry> moved;
    {
      const MutexLock lock(mutex_);
      for (const Entry& entry : events_) {
        if (entry.target == &target) moved.push_back(entry);
      }
    }
    Forget(target);
    for (const Entry& entry : moved) other.Raise(target, entry.event);
  }

  // The last waiter made the progress itself; the next one probably will, too.
  [[nodiscard]] bool serves_itself() const {
    return serves_itself_.load(std::memory_order_relaxed);
  }
  void set_serves_itself(bool serves) { serves_itself_.store(serves, std::memory_order_relaxed); }

 private:
  struct Entry {
    const CmEventTarget* target = nullptr;  // nullptr: posted
    CmEvent event;
  };

  void Push(const CmEventTarget* target, const CmEvent& event) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    events_.push_back({target, event});
  }
  [[nodiscard]] std::optional<CmEvent> TakeOldest() VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (events_.empty()) return std::nullopt;
    Entry entry = std::move(events_.front());
    events_.pop_front();
    if (entry.target != nullptr) entry.event.user = entry.target->user.load();
    return entry.event;
  }
  void DropSignals(size_t count) VERBENA_REQUIRES(mutex_) {
    for (; count > 0; --count) static_cast<void>(file_.TryWait());
  }

  const EventFile file_;
  std::atomic<bool> serves_itself_ = false;
  mutable Mutex mutex_;
  std::deque<Entry> events_ VERBENA_GUARDED_BY(mutex_);
};

}  // namespace verbena::adapter
