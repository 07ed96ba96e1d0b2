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

// What the events of one id share: where they go, and what the program calls the id. Events name
// it, so that a change reaches those that wait already.
//
// Any thread reads and sets `user`; the rest under the engine's lock.
struct CmEventTarget {
  CmEventQueue* queue = nullptr;
  std::atomic<void*> user = nullptr;
};

// The events of the connection manager that a program has not taken yet, with a file to wait on. An
// id has a few events at most before it ends, so the queue is bounded by the number of ids.
//
// Owned by the program's channel, which outlives the ids that name it. Any thread, but Raise,
// Expect and TakeExpected: under the engine's lock.
class CmEventQueue : public ExpectedEvent {
 public:
  explicit CmEventQueue(EventFile file) : file_(std::move(file)) {}
  CmEventQueue(const CmEventQueue&) = delete;
  CmEventQueue& operator=(const CmEventQueue&) = delete;

  // Readable while there are events. The program may make it non-blocking.
  [[nodiscard]] int fd() const { return file_.fd(); }
  [[nodiscard]] bool blocks() const { return file_.blocks(); }

  // By the engine.
  void Raise(const CmEventTarget& target, const CmEvent& event) VERBENA_EXCLUDES(mutex_) {
    Push(&target, event);
    if (!RaiseExpected()) file_.Signal();
  }
  // By the program: for what the engine knows nothing of.
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

  // Drops the events of an id that is about to be destroyed. The signals for them stay: a wait that
  // takes one finds no event, and the next.
  void Forget(const CmEventTarget& target) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    DropSignals(
        std::erase_if(events_, [&](const Entry& entry) { return entry.target == &target; }));
  }
  // Drops those that were posted for `user`.
  void Withdraw(const void* user) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    DropSignals(std::erase_if(events_, [&](const Entry& entry) {
      return entry.target == nullptr && entry.event.user == user;
    }));
  }
  // The events of an id go to another queue, behind those that wait there. By the engine.
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
